/** JSON, indented and coloured, without a library: every value is text to the browser. */
import { useState } from "preact/hooks";
import { bytes } from "../text/format";

const SHOWN = 20_000;
const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;

export function Json({ value, label }: { value: unknown; label: string }) {
  const [whole, setWhole] = useState(false);
  const text = typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "undefined");
  const cut = !whole && text.length > SHOWN;
  return (
    <div class="json">
      <pre tabIndex={0} aria-label={label}>
        {typeof value === "string" ? text.slice(0, cut ? SHOWN : undefined) : coloured(cut ? text.slice(0, SHOWN) : text)}
      </pre>
      {cut && (
        <button type="button" class="button small" onClick={() => setWhole(true)}>
          Show all {bytes(text.length)}
        </button>
      )}
    </div>
  );
}

function coloured(text: string) {
  const pieces: (string | preact.JSX.Element)[] = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > at) pieces.push(text.slice(at, match.index));
    const kind = match[1] ? (match[2] ? "key" : "string") : match[3] ? "word" : "number";
    pieces.push(<span class={`json-${kind}`}>{match[1] ?? match[0]}</span>);
    if (match[2]) pieces.push(match[2]);
    at = match.index + match[0].length;
  }
  pieces.push(text.slice(at));
  return pieces;
}
