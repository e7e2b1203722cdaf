import { signal } from "@preact/signals";
import { counts, type FileDiff, type Line, parseDiff, sideBySide } from "../text/diff";
import { languageOf } from "../text/language";
import { useHighlight } from "./Code";
import { Output } from "./Output";
import { CopyButton } from "./CopyButton";

const KEY = "everyagent.diff";
/** One choice for all diffs, kept. */
const layout = signal<"unified" | "split">(localStorage.getItem(KEY) === "split" ? "split" : "unified");
const MOST_LINES = 1500;
const MARKS = { same: " ", added: "+", removed: "-", note: "" };

function choose(next: "unified" | "split"): void {
  layout.value = next;
  localStorage.setItem(KEY, next);
}

/** Without `numbered`, nobody knows where in the file the lines are. */
export function Diff({ text, path, numbered = true }: { text: string; path: string; numbered?: boolean }) {
  const files = parseDiff(text);
  if (!files.length) return <Output text={text} label={`Diff of ${path}`} />;
  const { added, removed } = counts(files);
  return (
    <figure class={`diff ${numbered ? "" : "unnumbered"}`}>
      <figcaption>
        <span class="path" title={path}>
          <bdi>{path}</bdi>
        </span>
        <span class="added">+{added}</span>
        <span class="removed">−{removed}</span>
        <span class="spring" />
        <span class="segments" role="group" aria-label="Layout of diffs">
          {(["unified", "split"] as const).map((each) => (
            <button type="button" key={each} aria-pressed={layout.value === each} onClick={() => choose(each)}>
              {each === "split" ? "Side by side" : "Unified"}
            </button>
          ))}
        </span>
        <CopyButton text={text} label="Copy diff" />
      </figcaption>
      <div class="diff-scroll" tabIndex={0} role="region" aria-label={`Changes in ${path}`}>
        {files.map((file, index) => (
          <FileTable key={index} file={file} path={path} />
        ))}
      </div>
    </figure>
  );
}

function FileTable({ file, path }: { file: FileDiff; path: string }) {
  const language = languageOf(file.to || file.from || path);
  const highlight = useHighlight(language !== "");
  const split = layout.value === "split";
  const text = (line: Line | null) => {
    const html = line && language ? highlight?.highlighted(line.text, language) : null;
    return html ? <span dangerouslySetInnerHTML={{ __html: html }} /> : <span>{line?.text ?? ""}</span>;
  };
  return (
    <table class={split ? "split" : "unified"}>
      {split && (
        <colgroup>
          <col class="number" />
          <col />
          <col class="number" />
          <col />
        </colgroup>
      )}
      <tbody>
        {file.hunks.map((hunk, at) => [
          <tr class="hunk" key={`h${at}`}>
            <td colSpan={split ? 4 : 3}>⋯ {hunk.heading}</td>
          </tr>,
          ...(split
            ? sideBySide(hunk.lines.slice(0, MOST_LINES)).map(({ left, right }, n) => (
                <tr key={`${at}.${n}`}>
                  <td class="number">{left?.old ?? ""}</td>
                  <td class={left ? left.kind : "none"}>{text(left)}</td>
                  <td class="number">{right?.new ?? ""}</td>
                  <td class={right ? right.kind : "none"}>{text(right)}</td>
                </tr>
              ))
            : hunk.lines.slice(0, MOST_LINES).map((line, n) => (
                <tr key={`${at}.${n}`} class={line.kind}>
                  <td class="number">{line.old ?? ""}</td>
                  <td class="number">{line.new ?? ""}</td>
                  <td class={line.kind}>
                    <span class="mark">{MARKS[line.kind]}</span>
                    {text(line)}
                  </td>
                </tr>
              ))),
        ])}
      </tbody>
    </table>
  );
}
