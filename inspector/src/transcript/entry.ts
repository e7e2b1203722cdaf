/** What a conversation is shown as: entries, each made from one or more events. */
import type { CustomTool, Event, EventOf, Part, PartOf, Permission, Questions } from "../api/types";

/** `sequence` is the first event it was made from, which is its place; `last` the newest. */
interface Placed {
  key: string;
  sequence: number;
  last: number;
  time: string;
  turn: string | null;
  /** The key of the tool entry whose sub-agent made this. */
  parent: string | null;
}

export interface MessageEntry extends Placed {
  kind: "message";
  /** The event that completed it, or the newest that told of it. */
  told: number;
  role: "user" | "assistant" | "system";
  name: string | null;
  /** The key with which it was sent. */
  actor: Event["actor"] | null;
  status: "in_progress" | "completed" | "failed";
  parts: Part[];
  error: string | null;
  ended: string | null;
}

/** A tool call together with its result. */
export interface ToolEntry extends Placed {
  kind: "tool";
  name: string;
  server: string | null;
  callId: string;
  input: string;
  output: string;
  /** The result's content: beside its text, diffs, images, files. */
  parts: Part[];
  told: number;
  called: boolean;
  status: "in_progress" | "completed" | "failed";
  error: string | null;
  exitCode: number | null;
  durationMs: number | null;
  ended: string | null;
}

export interface Todo {
  label: string;
  state: string;
}

export interface PlanEntry extends Placed {
  kind: "plan";
  todos: Todo[];
}

export interface StatusEntry extends Placed {
  kind: "status";
  parts: PartOf<"status">[];
  failed: boolean;
}

export type AskEntry = Placed & { kind: "ask"; id: string; answered: string | null } & (
    | { ask: "permission"; request: Permission; resolved: EventOf<"permission.resolved">["data"] | null }
    | { ask: "question"; request: Questions; resolved: EventOf<"question.resolved">["data"] | null }
    | { ask: "tool"; request: CustomTool; resolved: EventOf<"tool.resolved">["data"] | null }
  );

export interface ErrorEntry extends Placed {
  kind: "error";
  data: EventOf<"error">["data"];
  /** Something else happened since: a countdown is over. */
  past: boolean;
}

export interface TurnEntry extends Placed {
  kind: "turn";
  started: string | null;
  data: EventOf<"turn.ended">["data"];
}

export interface NoteEntry extends Placed {
  kind: "note";
  event: EventOf<"session.started"> | EventOf<"session.updated"> | EventOf<"session.ended"> | EventOf<"agent.unparsed">;
}

export type Entry =
  | MessageEntry
  | ToolEntry
  | PlanEntry
  | StatusEntry
  | AskEntry
  | ErrorEntry
  | TurnEntry
  | NoteEntry;
