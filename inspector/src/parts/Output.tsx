/** What a command printed, with its colours. */
import { useState } from "preact/hooks";
import { plain, spans } from "../text/ansi";
import { plural } from "../text/format";
import { CopyButton } from "./CopyButton";

const SHOWN_LINES = 40;
const SHOWN_CHARS = 16_000;

export function Output({ text, growing = false, label = "Output" }: { text: string; growing?: boolean; label?: string }) {
  const [whole, setWhole] = useState(false);
  const lines = text.replace(/\n$/, "").split("\n");
  const hidden = whole ? 0 : Math.max(0, lines.length - SHOWN_LINES);
  let shown = hidden ? (growing ? lines.slice(-SHOWN_LINES) : lines.slice(0, SHOWN_LINES)).join("\n") : lines.join("\n");
  const cut = !whole && shown.length > SHOWN_CHARS;
  if (cut) shown = growing ? shown.slice(-SHOWN_CHARS) : shown.slice(0, SHOWN_CHARS);
  return (
    <div class="output">
      <CopyButton text={() => plain(text)} label={`Copy ${label.toLowerCase()}`} />
      <pre tabIndex={0} aria-label={label}>
        {spans(shown).map((span, index) => (
          <span key={index} class={span.classes.join(" ")} style={{ color: span.colour ?? "", backgroundColor: span.ground ?? "" }}>
            {span.text}
          </span>
        ))}
      </pre>
      {(hidden > 0 || cut) && (
        <button type="button" class="button small" onClick={() => setWhole(true)}>
          Show {hidden ? plural(hidden, "more line") : "everything"}
        </button>
      )}
    </div>
  );
}
