import type { Client } from "./client.js";
import { ApiError } from "./errors.js";
import { stream, type StreamOptions } from "./stream.js";
import { isAsk, SpokenText, turnOf, TurnSummary, type AskEvent, type Turn } from "./turn.js";
import type {
  AskInfo,
  Attachment,
  Event,
  MergedWorktree,
  MergeWorktree,
  PermissionReply,
  RewindSession,
  RewoundSession,
  SessionInfo,
  ToolReply,
  UpdateSession,
  WorktreeState,
} from "./types.js";

export interface EventOptions extends StreamOptions {
  /** Only events after this sequence. */
  offset?: number;
}

export interface MessageOptions {
  attachments?: Attachment[];
  signal?: AbortSignal;
}

/** An answer to a permission, a question (one list of answers for each; null rejects it), or a custom tool's call. */
export type AskAnswer = PermissionReply | { answers: string[][] | null } | ToolReply;

export interface RunOptions extends MessageOptions {
  /** Called for each ask of the agent. Without it the turn waits until somebody answers elsewhere. */
  answer?: (ask: AskEvent) => AskAnswer | Promise<AskAnswer>;
}

/** One session of an agent. Made by `client.create` and `client.session`; it holds no connection. */
export class Session {
  constructor(
    private readonly client: Client,
    readonly id: string,
  ) {}

  info(signal?: AbortSignal): Promise<SessionInfo> {
    return this.client.call("get", "/v1/sessions/{session_id}", { path: this.path, ...given(signal) });
  }

  /** Stored events after `offset`, then live ones until the session ends: each once, also over a restart of the daemon. */
  events(options: EventOptions = {}): AsyncGenerator<Event, void, void> {
    const path = `/v1/sessions/${encodeURIComponent(this.id)}/events/sse`;
    return stream(this.client.transport, path, options, String(options.offset ?? 0));
  }

  /** Queue a message. Returns the id of its item, by which its turn can be found. */
  async send(message: string, options: MessageOptions = {}): Promise<string> {
    const { attachments, signal } = options;
    const body = { message, ...(attachments ? { attachments } : {}) };
    const path = `/v1/sessions/${encodeURIComponent(this.id)}/messages`;
    const response = await this.client.transport.request("POST", path, { body, ...given(signal) });
    return response.headers.get("x-item-id") ?? "";
  }

  /** Send a message and follow its turn, from `turn.started` to `turn.ended`. */
  async *streamTurn(message: string, options: MessageOptions = {}): AsyncGenerator<Event, void, void> {
    const { eventCount } = await this.info(options.signal);
    const itemId = await this.send(message, options);
    yield* turnOf(this.events({ offset: eventCount, ...given(options.signal) }), itemId);
  }

  /** Send a message and get the agent's text as it comes. Returns the turn. */
  async *streamText(message: string, options: RunOptions = {}): AsyncGenerator<string, Turn, void> {
    const spoken = new SpokenText();
    const summary = new TurnSummary();
    for await (const event of this.streamTurn(message, options)) {
      const text = spoken.text(event);
      if (text) yield text;
      if (options.answer && isAsk(event)) await this.reply(event, await options.answer(event));
      const turn = summary.add(event);
      if (turn) return turn;
    }
    throw new Error("a turn ends with turn.ended");
  }

  /** Send a message and wait for its turn to end. */
  async run(message: string, options: RunOptions = {}): Promise<Turn> {
    const texts = this.streamText(message, options);
    for (;;) {
      const next = await texts.next();
      if (next.done) return next.value;
    }
  }

  /** Asks that wait for an answer. */
  async asks(): Promise<AskInfo[]> {
    return (await this.client.call("get", "/v1/sessions/{session_id}/asks", { path: this.path, query: { pending: true } })).asks;
  }

  async answerPermission(permissionId: string, body: PermissionReply): Promise<void> {
    const path = { ...this.path, permission_id: permissionId };
    await this.client.call("post", "/v1/sessions/{session_id}/permissions/{permission_id}/reply", { path, body });
  }

  /** One list of answers for each question; null rejects them. */
  async answerQuestion(questionId: string, answers: string[][] | null): Promise<void> {
    const path = { ...this.path, question_id: questionId };
    if (answers) await this.client.call("post", "/v1/sessions/{session_id}/questions/{question_id}/reply", { path, body: { answers } });
    else await this.client.call("post", "/v1/sessions/{session_id}/questions/{question_id}/reject", { path });
  }

  async answerTool(toolId: string, body: ToolReply): Promise<void> {
    const path = { ...this.path, tool_id: toolId };
    await this.client.call("post", "/v1/sessions/{session_id}/tools/{tool_id}/reply", { path, body });
  }

  update(body: UpdateSession): Promise<SessionInfo> {
    return this.client.call("patch", "/v1/sessions/{session_id}", { path: this.path, body });
  }

  /** Stop the running turn. */
  async cancel(): Promise<void> {
    await this.client.call("post", "/v1/sessions/{session_id}/cancel", { path: this.path });
  }

  /** End the agent and the session. Its events stay. */
  async terminate(): Promise<void> {
    await this.client.call("post", "/v1/sessions/{session_id}/terminate", { path: this.path });
  }

  /** The session's git worktree, with what is not merged yet. */
  worktree(): Promise<WorktreeState> {
    return this.client.call("get", "/v1/sessions/{session_id}/worktree", { path: this.path });
  }

  /** Merge the worktree's work into a branch: by default the one that the repository was on. Throws `ApiError` with nothing changed. */
  merge(body: MergeWorktree = {}): Promise<MergedWorktree> {
    return this.client.call("post", "/v1/sessions/{session_id}/worktree/merge", { path: this.path, body });
  }

  /** End the session and remove its worktree. Refused if some of its work is not merged, unless that is to be discarded. */
  async drop(discard = false): Promise<void> {
    await this.client.call("delete", "/v1/sessions/{session_id}/worktree", { path: this.path, query: { discard } });
  }

  /** Bring back the files, the conversation or both, as they were at an event. Throws `ApiError` if files of a person are in the way. With `dryRun` nothing changes. */
  rewind(sequence: number, restore: NonNullable<RewindSession["restore"]> = "both", dryRun = false): Promise<RewoundSession> {
    return this.client.call("post", "/v1/sessions/{session_id}/rewind", { path: this.path, body: { sequence, restore, dryRun } });
  }

  async delete(): Promise<void> {
    await this.client.call("delete", "/v1/sessions/{session_id}", { path: this.path });
  }

  /** An ask that somebody else has answered meanwhile is no error. */
  private async reply(ask: AskEvent, answer: AskAnswer): Promise<void> {
    checkAnswer(ask, answer);
    try {
      if (ask.type === "permission.requested") await this.answerPermission(ask.data.permission_id, answer as PermissionReply);
      else if (ask.type === "question.requested") await this.answerQuestion(ask.data.question_id, (answer as { answers: string[][] | null }).answers);
      else await this.answerTool(ask.data.tool_id, answer as ToolReply);
    } catch (error) {
      if (!(error instanceof ApiError && error.code === "ask_closed")) throw error;
    }
  }

  private get path(): { session_id: string } {
    return { session_id: this.id };
  }
}

const ANSWERS = {
  "permission.requested": ["reply", '{ reply: "once" }'],
  "question.requested": ["answers", '{ answers: [["label"]] }'],
  "tool.requested": ["output", '{ output: "text" }'],
} as const;

/** What the function of a caller returned can be anything. */
function checkAnswer(ask: AskEvent, answer: unknown): void {
  const [field, example] = ANSWERS[ask.type];
  if (typeof answer === "object" && answer !== null && field in answer) return;
  throw new TypeError(`The answer to a ${ask.type} is an object like ${example}, not ${String(JSON.stringify(answer)).slice(0, 50)}. Nothing was sent.`);
}

function given(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal ? { signal } : {};
}
