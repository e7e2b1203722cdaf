/** Code with colours, which come when they are loaded and never hold up the text. */
import { useEffect, useState } from "preact/hooks";
import { CopyButton } from "./CopyButton";

const LARGEST = 60_000;
type Highlight = typeof import("../text/highlight");
let library: Highlight | null = null;

export function useHighlight(wanted: boolean): Highlight | null {
  const [, draw] = useState(0);
  useEffect(() => {
    if (wanted && !library) {
      void import("../text/highlight").then((loaded) => {
        library = loaded;
        draw((n) => n + 1);
      });
    }
  }, [wanted]);
  return library;
}

export function Code({ text, language, copy = true }: { text: string; language: string; copy?: boolean }) {
  const highlight = useHighlight(language !== "" && text.length < LARGEST);
  const html = text.length < LARGEST && language ? highlight?.highlighted(text, language) : null;
  return (
    <div class="code">
      {copy && <CopyButton text={text} label="Copy code" />}
      <pre tabIndex={0}>{html ? <code dangerouslySetInnerHTML={{ __html: html }} /> : <code>{text}</code>}</pre>
    </div>
  );
}
