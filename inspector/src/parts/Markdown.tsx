import { useState } from "preact/hooks";
import { blocks, html } from "../text/markdown";
import { bytes } from "../text/format";
import { Code } from "./Code";

/** A text longer than this is shown in part until somebody wants all of it. */
const SHOWN = 20_000;

export function Markdown({ text, growing = false }: { text: string; growing?: boolean }) {
  const [whole, setWhole] = useState(false);
  const cut = !whole && text.length > SHOWN;
  // Of a growing text its end is what people watch.
  const shown = !cut ? text : growing ? text.slice(-SHOWN) : text.slice(0, SHOWN);
  return (
    <div class="markdown">
      {blocks(shown).map((block, index) =>
        block.code ? (
          <Code key={index} text={block.code.text} language={block.code.language} />
        ) : (
          <div key={index} dangerouslySetInnerHTML={{ __html: html(block.raw) }} />
        ),
      )}
      {cut && (
        <button type="button" class="button small" onClick={() => setWhole(true)}>
          Show all {bytes(text.length)}
        </button>
      )}
    </div>
  );
}
