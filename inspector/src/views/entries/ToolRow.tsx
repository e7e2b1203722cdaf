/** A tool call: what it was asked to do, what came of it, and what its sub-agent did. */
import type { Session } from "../../api/types";
import type { ToolEntry } from "../../transcript/entry";
import { todosOf } from "../../transcript/todos";
import type { Transcript } from "../../transcript/transcript";
import { parseDiff } from "../../text/diff";
import { duration } from "../../text/format";
import { useFold } from "../../parts/fold";
import { Icon } from "../../parts/Icon";
import { Output } from "../../parts/Output";
import { EntryRow } from "./EntryRow";
import { PartView } from "./MessageRow";
import { Place } from "./Place";
import { PlanRow } from "./PlanRow";
import { gistOf, ToolInput } from "./ToolInput";

const WORDS = { in_progress: "running", completed: "done", failed: "failed" };

export function ToolRow({ entry, transcript, session }: { entry: ToolEntry; transcript: Transcript; session: Session }) {
  const children = transcript.childrenOf(entry.key);
  const diffs = entry.parts.some((part) => part.type === "file_ref" && part.diff);
  const [open, toggle] = useFold(entry.key, diffs || children.length > 0 || (entry.status === "in_progress" && !!entry.output));
  const todos = todosOf(entry.input);
  const took = entry.durationMs ?? (entry.ended ? Date.parse(entry.ended) - Date.parse(entry.time) : null);
  const id = session.sessionId;
  return (
    <section class={`tool ${entry.status}`} aria-label={`Tool ${entry.name}, ${WORDS[entry.status]}`}>
      <header>
        <button type="button" class="fold" aria-expanded={open} onClick={toggle}>
          <Icon name="chevron" />
          <span class={`state ${entry.status}`} title={WORDS[entry.status]} />
          <strong>
            {entry.server && <span class="muted">{entry.server} · </span>}
            {entry.name || "tool"}
          </strong>
          <code class="gist">{gistOf(entry.input)}</code>
        </button>
        {entry.exitCode !== null && <span class={`tag ${entry.exitCode ? "failed" : ""}`}>exit {entry.exitCode}</span>}
        {took !== null && <span class="muted">{duration(took)}</span>}
        <Place session={id} sequence={entry.sequence} time={entry.time} />
      </header>
      {todos && <PlanRow todos={todos} />}
      {open && (
        <div class="tool-body">
          {!todos && <ToolInput name={entry.name} input={entry.input} changed={diffs} />}
          {entry.output && !(diffs && parseDiff(entry.output).length) && <Output text={entry.output} growing={!entry.ended} />}
          {entry.parts.map((part, index) => (
            <PartView key={index} part={part} growing={false} id={`${entry.key}.${index}`} session={id} told={entry.told} index={index} />
          ))}
          {entry.error && entry.error !== entry.output && <p class="problem">{entry.error}</p>}
          {children.length > 0 && (
            <div class="subagent" role="group" aria-label="What the sub-agent did">
              {children.map((child) => (
                <EntryRow key={child.key} entry={child} transcript={transcript} session={session} />
              ))}
            </div>
          )}
        </div>
      )}
    </section>
  );
}
