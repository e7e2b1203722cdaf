/** Unified diffs, read without trust: whatever is no diff is shown as the text it is. */
export interface Line {
  kind: "same" | "added" | "removed" | "note";
  old: number | null;
  new: number | null;
  text: string;
}

export interface Hunk {
  heading: string;
  lines: Line[];
}

export interface FileDiff {
  from: string;
  to: string;
  hunks: Hunk[];
}

export interface Row {
  left: Line | null;
  right: Line | null;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;

export function parseDiff(text: string): FileDiff[] {
  const files: FileDiff[] = [];
  let file: FileDiff | null = null;
  let hunk: Hunk | null = null;
  let [oldLine, newLine, oldLeft, newLeft] = [0, 0, 0, 0];
  for (const line of text.replace(/\r?\n$/, "").split("\n")) {
    const inside: boolean = hunk !== null && (oldLeft > 0 || newLeft > 0);
    const heading: RegExpExecArray | null = inside ? null : HUNK.exec(line);
    if (heading) {
      oldLine = Number(heading[1]);
      newLine = Number(heading[3]);
      oldLeft = Number(heading[2] ?? 1);
      newLeft = Number(heading[4] ?? 1);
      hunk = { heading: heading[5] ?? "", lines: [] };
      if (!file) files.push((file = { from: "", to: "", hunks: [] }));
      file.hunks.push(hunk);
    } else if (inside && hunk && line.startsWith("+")) {
      hunk.lines.push({ kind: "added", old: null, new: newLine++, text: line.slice(1) });
      newLeft--;
    } else if (inside && hunk && line.startsWith("-")) {
      hunk.lines.push({ kind: "removed", old: oldLine++, new: null, text: line.slice(1) });
      oldLeft--;
    } else if (hunk && line.startsWith("\\")) {
      hunk.lines.push({ kind: "note", old: null, new: null, text: line.slice(2) });
    } else if (inside && hunk) {
      hunk.lines.push({ kind: "same", old: oldLine++, new: newLine++, text: line.slice(1) });
      oldLeft--;
      newLeft--;
    } else if (line.startsWith("--- ")) {
      files.push((file = { from: path(line), to: "", hunks: [] }));
      hunk = null;
    } else if (line.startsWith("+++ ") && file) file.to = path(line);
  }
  return files.filter((each) => each.hunks.length);
}

export function counts(files: FileDiff[]): { added: number; removed: number } {
  const lines = files.flatMap((file) => file.hunks.flatMap((hunk) => hunk.lines));
  const of = (kind: Line["kind"]) => lines.filter((line) => line.kind === kind).length;
  return { added: of("added"), removed: of("removed") };
}

/** Removed lines beside the added ones that stand in their place. */
export function sideBySide(lines: Line[]): Row[] {
  const rows: Row[] = [];
  let removed: Line[] = [];
  let added: Line[] = [];
  const flush = () => {
    for (let n = 0; n < Math.max(removed.length, added.length); n++) {
      rows.push({ left: removed[n] ?? null, right: added[n] ?? null });
    }
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === "removed") {
      if (added.length) flush();
      removed.push(line);
    } else if (line.kind === "added") added.push(line);
    else {
      flush();
      rows.push({ left: line, right: line });
    }
  }
  flush();
  return rows;
}

function path(line: string): string {
  const name = line.slice(4).split("\t")[0] ?? "";
  return name === "/dev/null" ? "" : name.replace(/^[ab]\//, "");
}
