import type { Part } from "../../api/types";
import type { MessageEntry } from "../../transcript/entry";
import { identity } from "../../state/identity";
import { basename } from "../../text/format";
import { useFold } from "../../parts/fold";
import { Diff } from "../../parts/Diff";
import { Icon } from "../../parts/Icon";
import { Json } from "../../parts/Json";
import { Markdown } from "../../parts/Markdown";
import { Picture } from "../../parts/Picture";
import { Place } from "./Place";

const WHO = { user: "You", assistant: "Agent", system: "System" };

/** Other people's messages have their name. */
function whoSent({ role, actor }: MessageEntry): string {
  return role === "user" && actor && actor.key_id !== identity.value?.keyId ? actor.name : WHO[role];
}

export function MessageRow({ entry, session }: { entry: MessageEntry; session: string }) {
  if (entry.role === "system" && entry.parts.every((part) => part.type === "file_ref")) return <FileNews entry={entry} />;
  const growing = entry.status === "in_progress";
  const empty = !entry.parts.some((part) => !("text" in part) || part.text);
  return (
    <article class={`message ${entry.role}`} aria-label={`${whoSent(entry)} said`} aria-busy={growing}>
      <header>
        <strong>{whoSent(entry)}</strong>
        {entry.status === "failed" && <span class="tag failed">not finished</span>}
        <span class="spring" />
        <Place session={session} sequence={entry.sequence} time={entry.time} />
      </header>
      {entry.parts.map((part, index) => (
        <PartView key={index} part={part} growing={growing && index === entry.parts.length - 1} id={`${entry.key}.${index}`} session={session} told={entry.told} index={index} user={entry.role === "user"} />
      ))}
      {growing && empty && <span class="typing" role="img" aria-label="The agent is writing" />}
      {entry.error && <p class="problem">{entry.error}</p>}
    </article>
  );
}

/** Files that changed in the turn, as the agent sums them up. The edits themselves are shown where they were made. */
function FileNews({ entry }: { entry: MessageEntry }) {
  const [open, toggle] = useFold(`files:${entry.key}`, false);
  const files = entry.parts.filter((part) => part.type === "file_ref");
  const diffs = files.filter((part) => part.diff);
  const names = files.map((part) => `${basename(part.path)} (${part.action})`).join(", ");
  if (!diffs.length) return <p class="aside">{names}</p>;
  return (
    <div class="reasoning">
      <button type="button" class="fold" aria-expanded={open} onClick={toggle}>
        <Icon name="chevron" /> All changes of this turn <span class="gist">{names}</span>
      </button>
      {open && diffs.map((part) => <Diff key={part.path} text={part.diff ?? ""} path={part.path} />)}
    </div>
  );
}

interface PartProps {
  part: Part;
  growing: boolean;
  id: string;
  session: string;
  told: number;
  index: number;
  user?: boolean;
}

export function PartView({ part, growing, id, session, told, index, user = false }: PartProps) {
  switch (part.type) {
    case "text":
      return user ? <p class="said">{part.text}</p> : <Markdown text={part.text} growing={growing} />;
    case "reasoning":
      return <Reasoning text={part.text} growing={growing} id={id} />;
    case "image":
      return <Picture part={part} session={session} told={told} index={index} />;
    case "file_ref":
      return part.diff ? (
        <Diff text={part.diff} path={part.path} />
      ) : (
        <span class="attachment" title={part.path}>
          <Icon name="file" /> {basename(part.path)} {part.action !== "read" && <small>{part.action}</small>}
        </span>
      );
    case "json":
      return <Json value={part.json} label="Data" />;
    case "status":
      return (
        <p class="muted">
          {part.label} {part.detail}
        </p>
      );
    case "tool_call":
      return <Json value={part.arguments} label={`Call of ${part.name}`} />;
    case "tool_result":
      return null;
  }
}

function Reasoning({ text, growing, id }: { text: string; growing: boolean; id: string }) {
  const [open, toggle] = useFold(`reasoning:${id}`, false);
  const gist = text.trim().split("\n")[0] ?? "";
  return (
    <div class="reasoning">
      <button type="button" class="fold" aria-expanded={open} onClick={toggle}>
        <Icon name="chevron" /> {growing ? "Thinking…" : "Thought"} {!open && <span class="gist">{gist}</span>}
      </button>
      {open && <Markdown text={text} growing={growing} />}
    </div>
  );
}
