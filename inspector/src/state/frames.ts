/** Work gathered until the next frame: however many events come, the page is drawn once. */
const HIDDEN_WAIT = 250;

export function perFrame<T>(take: (gathered: T[]) => void): (more: T[]) => void {
  let gathered: T[] = [];
  let scheduled = false;
  const flush = () => {
    scheduled = false;
    const all = gathered;
    gathered = [];
    take(all);
  };
  return (more) => {
    for (const each of more) gathered.push(each);
    if (scheduled) return;
    scheduled = true;
    // A hidden page has no frames.
    if (document.hidden) setTimeout(flush, HIDDEN_WAIT);
    else requestAnimationFrame(flush);
  };
}
