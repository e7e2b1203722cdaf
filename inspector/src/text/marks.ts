const LETTER = "[\\p{L}\\p{N}_]";

/** A text in pieces, each with whether it was searched for: whole words, and those that begin like the last one. */
export function marked(text: string, query: string): [text: string, found: boolean][] {
  const words = query.match(/[\p{L}\p{N}_]+/gu) ?? [];
  if (!words.length) return [[text, false]];
  const last = words.at(-1);
  const pattern = new RegExp(`(?<!${LETTER})(?:(?:${words.join("|")})(?!${LETTER})|${last}${LETTER}*)`, "giu");
  const pieces: [string, boolean][] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > end) pieces.push([text.slice(end, match.index), false]);
    end = match.index + match[0].length;
    pieces.push([match[0], true]);
  }
  if (end < text.length) pieces.push([text.slice(end), false]);
  return pieces;
}
