/** Terminal output into styled spans. Colours and weights are kept; whatever else an escape wants is dropped. */
export interface Span {
  text: string;
  /** Class names; `colour` and `ground` are set where no class stands for them. */
  classes: string[];
  colour: string | null;
  ground: string | null;
}

interface Style {
  flags: Set<string>;
  colour: string | null;
  ground: string | null;
}

/** CSI, then OSC (and its kin, up to its end or the line's), then two-character escapes, then other controls. */
// biome-ignore format: one pattern a line
const ESCAPE = new RegExp(
  [
    "\\x1b\\[([0-9;:?<=>]*)[ -/]*([@-~])",
    "\\x1b[\\]PX^_][^\\x07\\x1b\\n]*(?:\\x07|\\x1b\\\\)?",
    "\\x1b[ -/]*[0-~]?",
    "\\x9b[0-9;:?]*[@-~]",
    "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1a\\x1c-\\x1f\\x7f-\\x9f]",
  ].join("|"),
  "g",
);

const FLAGS: Record<number, string> = { 1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike" };
const OFF: Record<number, string[]> = { 22: ["bold", "dim"], 23: ["italic"], 24: ["underline"], 27: ["inverse"], 29: ["strike"] };

export function spans(output: string): Span[] {
  const text = overwritten(output);
  const style: Style = { flags: new Set(), colour: null, ground: null };
  const found: Span[] = [];
  let at = 0;
  const push = (piece: string) => {
    if (piece) found.push(spanOf(piece, style));
  };
  for (const match of text.matchAll(ESCAPE)) {
    push(text.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[2] === "m") paint(style, match[1] ?? "");
  }
  push(text.slice(at));
  return found;
}

export function plain(output: string): string {
  return overwritten(output).replace(ESCAPE, "");
}

/** A line that goes back to its start is written over: progress bars show their last state. */
function overwritten(text: string): string {
  if (!text.includes("\r")) return text;
  return text
    .replaceAll("\r\n", "\n")
    .split("\n")
    .map((line) => line.slice(line.replace(/\r+$/, "").lastIndexOf("\r") + 1).replace(/\r+$/, ""))
    .join("\n");
}

function paint(style: Style, codes: string): void {
  const numbers = codes.split(/[;:]/).map((code) => Number(code || 0));
  for (let n = 0; n < numbers.length; n++) {
    const code = numbers[n] ?? 0;
    if (code === 0) {
      style.flags.clear();
      style.colour = style.ground = null;
    } else if (FLAGS[code]) style.flags.add(FLAGS[code]);
    else if (OFF[code]) for (const flag of OFF[code]) style.flags.delete(flag);
    else if (code >= 30 && code <= 37) style.colour = `c${code - 30}`;
    else if (code >= 90 && code <= 97) style.colour = `c${code - 82}`;
    else if (code === 39) style.colour = null;
    else if (code >= 40 && code <= 47) style.ground = `c${code - 40}`;
    else if (code >= 100 && code <= 107) style.ground = `c${code - 92}`;
    else if (code === 49) style.ground = null;
    else if (code === 38 || code === 48) {
      const [colour, used] = extended(numbers.slice(n + 1));
      if (code === 38) style.colour = colour;
      else style.ground = colour;
      n += used;
    }
  }
}

/** `5;n` is one of 256, `2;r;g;b` any; and how many numbers it took. */
function extended(rest: number[]): [string | null, number] {
  if (rest[0] === 5) return [indexed(rest[1] ?? 0), 2];
  if (rest[0] === 2) return [`rgb(${[1, 2, 3].map((n) => byte(rest[n])).join(" ")})`, 4];
  return [null, rest.length];
}

function indexed(index: number): string | null {
  if (index < 16) return `c${byte(index)}`;
  if (index > 255 || Number.isNaN(index)) return null;
  if (index >= 232) return `rgb(${Array(3).fill(8 + (index - 232) * 10).join(" ")})`;
  const cube = index - 16;
  const level = (n: number) => (n ? 55 + n * 40 : 0);
  return `rgb(${level(Math.floor(cube / 36))} ${level(Math.floor(cube / 6) % 6)} ${level(cube % 6)})`;
}

function byte(value: number | undefined): number {
  return Math.min(255, Math.max(0, Math.trunc(value ?? 0) || 0));
}

function spanOf(text: string, style: Style): Span {
  const inverse = style.flags.has("inverse");
  const [front, back] = inverse ? [style.ground ?? "back", style.colour ?? "front"] : [style.colour, style.ground];
  const classes = [...style.flags].filter((flag) => flag !== "inverse").map((flag) => `ansi-${flag}`);
  if (front && !front.startsWith("rgb")) classes.push(`ansi-${front}`);
  if (back && !back.startsWith("rgb")) classes.push(`ansi-on-${back}`);
  return { text, classes, colour: front?.startsWith("rgb") ? front : null, ground: back?.startsWith("rgb") ? back : null };
}
