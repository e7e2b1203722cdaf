/** What a tool is asked to do: a command as a command, an edit as a diff, anything else as its JSON. */
import { basename } from "../../text/format";
import { Code } from "../../parts/Code";
import { Diff } from "../../parts/Diff";
import { Json } from "../../parts/Json";

type Fields = Record<string, unknown>;
const TELLING = ["command", "cmd", "file_path", "filePath", "path", "pattern", "query", "url", "description", "question", "prompt", "questions"];
const GIST = 160;

export function fieldsOf(input: unknown): Fields | null {
  if (typeof input !== "string") return input && typeof input === "object" && !Array.isArray(input) ? (input as Fields) : null;
  try {
    return fieldsOf(JSON.parse(input) as unknown);
  } catch {
    return null;
  }
}

/** The one thing to know about a call. */
export function gistOf(input: unknown): string {
  const fields = fieldsOf(input);
  if (!fields) return typeof input === "string" ? input.slice(0, GIST) : "";
  const name = TELLING.find((each) => fields[each] !== undefined) ?? Object.keys(fields)[0];
  const value = name ? fields[name] : "";
  return textOf(value).replace(/\s+/g, " ").slice(0, GIST);
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(" ");
  return value && typeof value === "object" ? gistOf(value) : String(value ?? "");
}

/** `changed`: the result has the diff of this call, which is shown instead of the input's. */
export function ToolInput({ name, input, changed = false }: { name: string; input: unknown; changed?: boolean }) {
  const fields = fieldsOf(input);
  if (!fields) return input ? <Json value={input} label={`Input of ${name}`} /> : null;
  const command = fields.command ?? fields.cmd;
  if (typeof command === "string" || Array.isArray(command)) {
    const rest = Object.fromEntries(Object.entries(fields).filter(([key]) => key !== "command" && key !== "cmd"));
    return (
      <>
        <Code text={textOf(command)} language="bash" />
        {Object.keys(rest).length > 0 && <Json value={rest} label={`Input of ${name}`} />}
      </>
    );
  }
  const edit = editOf(fields);
  if (changed && (edit || Array.isArray(fields.changes))) return null;
  if (edit) return <Diff text={edit.diff} path={edit.path} numbered={edit.whole} />;
  return Object.keys(fields).length ? <Json value={fields} label={`Input of ${name}`} /> : null;
}

/** Edits that are told as an old and a new text, as a diff. Only that of a `whole` file has known line numbers. */
function editOf(fields: Fields): { path: string; diff: string; whole: boolean } | null {
  const path = fields.file_path ?? fields.filePath ?? fields.path;
  const old = fields.old_string ?? fields.oldString ?? fields.old_str ?? "";
  const fresh = fields.new_string ?? fields.newString ?? fields.new_str ?? fields.content;
  if (typeof path !== "string" || typeof old !== "string" || typeof fresh !== "string") return null;
  const before = old ? old.replace(/\n$/, "").split("\n") : [];
  const after = fresh.replace(/\n$/, "").split("\n");
  const head = `@@ -${before.length ? 1 : 0},${before.length} +1,${after.length} @@`;
  const lines = [...before.map((line) => `-${line}`), ...after.map((line) => `+${line}`)];
  return { path, whole: fields.content !== undefined, diff: [`--- ${basename(path)}`, `+++ ${basename(path)}`, head, ...lines].join("\n") };
}
