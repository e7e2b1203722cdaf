/**
 * Events into entries. Pure: no clock, no I/O. Events may come in any order and twice, so that older pages can be
 * added to newer ones; of one item, what completes it wins.
 */
import type { Event, EventOf, Item, Part } from "../api/types";
import type { AskEntry, Entry, ErrorEntry, MessageEntry, ToolEntry } from "./entry";

type Base = Pick<Entry, "sequence" | "last" | "time" | "turn" | "parent">;

export class Transcript {
  readonly entries = new Map<string, Entry>();
  /** Entries of a sub-agent, by the key of the tool call that started it. */
  private children = new Map<string, string[]>();
  /** Entries whose sub-agent's call is not loaded yet, by that call's item; they stand at the top meanwhile. */
  private waiting = new Map<string, Set<string>>();
  /** Which entry an item is part of. */
  private keys = new Map<string, string>();
  private roots: string[] = [];
  private unsorted = false;
  private turnStarts = new Map<string, EventOf<"turn.started">>();
  private lastError: string | null = null;
  /** Grows with every change that adds, moves or removes an entry at the top. */
  revision = 0;

  apply(event: Event): void {
    switch (event.type) {
      case "item.started":
        return this.item(event, event.data.item, false);
      case "item.completed":
        return this.item(event, event.data.item, true);
      case "item.delta":
        return this.delta(event);
      case "permission.requested":
      case "permission.resolved":
        return this.ask(event, "permission", event.data.permission_id);
      case "question.requested":
      case "question.resolved":
        return this.ask(event, "question", event.data.question_id);
      case "tool.requested":
      case "tool.resolved":
        return this.ask(event, "tool", event.data.tool_id);
      case "error":
        return this.error(event);
      case "turn.started":
        this.turnStarts.set(event.data.turn_id, event);
        return this.retryStart(event);
      case "turn.ended": {
        const started = this.turnStarts.get(event.data.turn_id)?.time ?? null;
        const turn = event.data.turn_id;
        return this.put({ ...this.base(event), key: `turn:${turn}`, kind: "turn", turn, started, data: event.data });
      }
      case "session.updated":
        if (isNews(event)) this.put({ ...this.base(event), key: event.event_id, kind: "note", event });
        return;
      case "session.started":
      case "session.ended":
      case "agent.unparsed":
        return this.put({ ...this.base(event), key: event.event_id, kind: "note", event });
    }
  }

  /** Keys of the entries at the top, in order. */
  top(): string[] {
    if (this.unsorted) {
      this.roots.sort((a, b) => this.placeOf(a) - this.placeOf(b));
      this.unsorted = false;
    }
    return this.roots;
  }

  childrenOf(key: string): Entry[] {
    const found = (this.children.get(key) ?? []).flatMap((child) => this.entries.get(child) ?? []);
    return found.sort((a, b) => a.sequence - b.sequence);
  }

  /** The entry that an item, an ask or a turn is shown in, at the top. */
  rootOf(key: string | null | undefined): string | null {
    for (let entry = key ? this.entries.get(key) : undefined; entry; entry = this.entries.get(entry.parent)) {
      if (!entry.parent) return entry.key;
    }
    return null;
  }

  keyOfItem(item: string): string | null {
    return this.keys.get(item) ?? null;
  }

  /** Which entry shows an event, as far as it is loaded. */
  keyOf(event: Event): string | null {
    const data = event.data as Record<string, unknown>;
    const item = (data.item as Item | undefined)?.item_id ?? (event.type === "item.delta" ? event.data.item_id : null);
    if (item) return this.keys.get(item) ?? null;
    const id = data.permission_id ?? data.question_id ?? data.tool_id;
    const key = id ? `ask:${String(id)}` : event.type.startsWith("turn.") ? `turn:${String(data.turn_id)}` : event.event_id;
    return this.entries.has(key) ? key : null;
  }

  /** Items begun and not completed: only their deltas are worth loading. */
  open(): { item: string; sequence: number }[] {
    const found: { item: string; sequence: number }[] = [];
    for (const [item, key] of this.keys) {
      const entry = this.entries.get(key);
      if ((entry?.kind === "message" || entry?.kind === "tool") && entry.status === "in_progress") {
        found.push({ item, sequence: entry.sequence });
      }
    }
    return found;
  }

  private base(event: Event, item?: Item): Base {
    return {
      sequence: event.sequence,
      last: event.sequence,
      time: event.time,
      turn: item?.turn_id ?? null,
      parent: item?.subagent ? (this.keys.get(item.subagent) ?? null) : null,
    };
  }

  private item(event: Event, item: Item, completed: boolean): void {
    const call = item.content.find((part) => part.type === "tool_call");
    const result = item.content.find((part) => part.type === "tool_result");
    if (item.kind === "tool_call" && call) this.toolCall(event, item, call, completed);
    else if (item.kind === "tool_result" && result) this.toolResult(event, item, result, completed);
    else if (item.kind === "status" && item.content.every((part) => part.type === "status")) this.status(event, item);
    else this.message(event, item, completed);
    const key = this.keys.get(item.item_id);
    if (item.subagent && key && !this.entries.get(key)?.parent) this.wait(item.subagent, key);
    if (key) this.adopt(item.item_id, key);
  }

  private wait(caller: string, key: string): void {
    const waiting = this.waiting.get(caller) ?? new Set();
    this.waiting.set(caller, waiting.add(key));
  }

  private adopt(caller: string, key: string): void {
    for (const child of this.waiting.get(caller) ?? []) {
      const entry = this.entries.get(child);
      if (entry) this.put({ ...entry, parent: key });
    }
    this.waiting.delete(caller);
  }

  private message(event: Event, item: Item, completed: boolean): void {
    const key = this.own(item, `item:${item.item_id}`);
    const earlier = this.entries.get(key) as MessageEntry | undefined;
    if (earlier && !completed) return this.put({ ...earlier, ...this.base(event, item), last: earlier.last });
    this.put({
      ...this.base(event, item),
      sequence: earlier?.sequence ?? event.sequence,
      time: earlier?.time ?? event.time,
      key,
      kind: "message",
      told: event.sequence,
      role: item.role === "user" || item.role === "system" ? item.role : "assistant",
      name: item.name ?? null,
      actor: event.actor ?? earlier?.actor ?? null,
      status: item.status,
      parts: item.content,
      error: item.error ?? null,
      ended: completed ? event.time : null,
    });
  }

  private toolCall(event: Event, item: Item, call: Extract<Part, { type: "tool_call" }>, completed: boolean): void {
    const key = this.own(item, `tool:${call.call_id}`);
    const earlier = this.entries.get(key) as ToolEntry | undefined;
    const known = earlier ?? emptyTool(key, call.call_id, this.base(event, item));
    this.put({
      ...known,
      ...this.base(event, item),
      sequence: Math.min(known.sequence, event.sequence),
      last: Math.max(known.last, event.sequence),
      time: known.sequence <= event.sequence ? known.time : event.time,
      name: call.name,
      server: call.mcp_server ?? null,
      input: completed ? call.arguments : known.input || call.arguments,
      called: known.called || completed,
      // A call that failed has no result to come.
      status: completed && item.status === "failed" && !known.ended ? "failed" : known.status,
      error: known.error ?? item.error ?? null,
    });
  }

  private toolResult(event: Event, item: Item, result: Extract<Part, { type: "tool_result" }>, completed: boolean): void {
    const key = this.own(item, `tool:${result.call_id}`);
    const earlier = this.entries.get(key) as ToolEntry | undefined;
    const known = earlier ?? { ...emptyTool(key, result.call_id, this.base(event, item)), name: item.name ?? "" };
    const base = { sequence: Math.min(known.sequence, event.sequence), last: Math.max(known.last, event.sequence) };
    if (!completed) return this.put({ ...known, ...base });
    this.put({
      ...known,
      ...base,
      name: known.name || (item.name ?? "tool"),
      turn: known.turn ?? item.turn_id ?? null,
      output: result.output,
      parts: item.content,
      told: event.sequence,
      called: true,
      status: item.status === "in_progress" ? "completed" : item.status,
      error: item.error ?? null,
      exitCode: result.exit_code ?? null,
      durationMs: result.duration_ms ?? null,
      ended: event.time,
    });
  }

  private status(event: Event, item: Item): void {
    const parts = item.content as Extract<Part, { type: "status" }>[];
    // A plan that is one text, waiting to be approved, is no list of things to do.
    const list = parts.every((part) => !/\s/.test(part.detail ?? ""));
    if (list && (item.name === "plan" || parts.length > 1)) {
      const key = this.own(item, `plan:${item.turn_id ?? item.item_id}`);
      const earlier = this.entries.get(key);
      if (earlier && earlier.last > event.sequence) return;
      const todos = parts.map((part) => ({ label: part.label, state: part.detail ?? "pending" }));
      this.put({ ...this.base(event, item), sequence: earlier?.sequence ?? event.sequence, key, kind: "plan", todos });
      return;
    }
    const key = this.own(item, `item:${item.item_id}`);
    const earlier = this.entries.get(key);
    if (earlier && earlier.last > event.sequence) return;
    const sequence = earlier?.sequence ?? event.sequence;
    this.put({ ...this.base(event, item), sequence, key, kind: "status", parts, failed: item.status === "failed" });
  }

  private delta(event: EventOf<"item.delta">): void {
    const { item_id, kind, delta, content_index } = event.data;
    const key = this.keys.get(item_id);
    const entry = key ? this.entries.get(key) : undefined;
    if (!entry || event.sequence <= entry.last) return;
    if (entry.kind === "message" && entry.status === "in_progress") {
      const parts = entry.parts.slice();
      const part = parts[content_index];
      if (part && "text" in part) parts[content_index] = { ...part, text: part.text + delta };
      else if (kind === "reasoning") parts[content_index] = { type: "reasoning", text: delta, visibility: "public" };
      else parts[content_index] = { type: "text", text: delta };
      this.change({ ...entry, parts, last: event.sequence });
    } else if (entry.kind === "tool" && !entry.ended) {
      if (kind === "tool_input" && !entry.called) this.change({ ...entry, input: entry.input + delta, last: event.sequence });
      if (kind === "tool_output") this.change({ ...entry, output: entry.output + delta, last: event.sequence });
    }
  }

  private ask(event: Event, ask: AskEntry["ask"], id: string): void {
    const key = `ask:${id}`;
    const earlier = this.entries.get(key) as AskEntry | undefined;
    const resolved = event.type.endsWith(".resolved");
    const base = {
      ...this.base(event),
      sequence: Math.min(earlier?.sequence ?? event.sequence, event.sequence),
      last: Math.max(earlier?.last ?? 0, event.sequence),
      time: resolved ? (earlier?.time ?? event.time) : event.time,
    };
    this.put({
      ...base,
      key,
      kind: "ask",
      id,
      ask,
      request: resolved ? (earlier?.request ?? event.data) : event.data,
      resolved: resolved ? event.data : (earlier?.resolved ?? null),
      answered: resolved ? event.time : (earlier?.answered ?? null),
    } as AskEntry);
  }

  private error(event: EventOf<"error">): void {
    this.put({ ...this.base(event), key: event.event_id, kind: "error", data: event.data, past: false });
    this.lastError = event.event_id;
  }

  /** A turn's end that was loaded before its start learns when it began. */
  private retryStart(event: EventOf<"turn.started">): void {
    const ended = this.entries.get(`turn:${event.data.turn_id}`);
    if (ended?.kind === "turn") this.change({ ...ended, started: event.time });
  }

  private own(item: Item, key: string): string {
    this.keys.set(item.item_id, key);
    return key;
  }

  private put(entry: Entry): void {
    this.settleError(entry);
    this.touch(entry.parent);
    const earlier = this.entries.get(entry.key);
    this.entries.set(entry.key, entry);
    const before = earlier && this.listOf(earlier);
    const after = this.listOf(entry);
    if (before === after && earlier?.sequence === entry.sequence) return;
    if (before) before.splice(before.indexOf(entry.key), 1);
    if (after === this.roots) {
      const last = after.at(-1);
      if (last !== undefined && this.placeOf(last) > entry.sequence) this.unsorted = true;
    }
    after.push(entry.key);
    this.revision += 1;
  }

  private listOf(entry: Entry): string[] {
    if (!entry.parent) return this.roots;
    let list = this.children.get(entry.parent);
    if (!list) this.children.set(entry.parent, (list = []));
    return list;
  }

  private change(entry: Entry): void {
    this.settleError(entry);
    this.touch(entry.parent);
    this.entries.set(entry.key, entry);
  }

  /** Whoever shows an entry by its identity sees that something below it changed. */
  private touch(key: string | null): void {
    const entry = key ? this.entries.get(key) : undefined;
    if (!entry) return;
    this.entries.set(entry.key, { ...entry });
    this.touch(entry.parent);
  }

  private settleError(entry: Entry): void {
    if (!this.lastError || entry.key === this.lastError) return;
    const error = this.entries.get(this.lastError) as ErrorEntry | undefined;
    if (!error || entry.last < error.sequence) return;
    this.entries.set(error.key, { ...error, past: true });
    this.lastError = null;
  }

  private placeOf(key: string): number {
    return this.entries.get(key)?.sequence ?? 0;
  }
}

function emptyTool(key: string, callId: string, base: Base): ToolEntry {
  return {
    ...base,
    key,
    kind: "tool",
    callId,
    name: "",
    server: null,
    input: "",
    output: "",
    parts: [],
    told: 0,
    called: false,
    status: "in_progress",
    error: null,
    exitCode: null,
    durationMs: null,
    ended: null,
  };
}

/** A change of status alone is shown in the header, the native session in the events; neither is told in the conversation. */
function isNews(event: EventOf<"session.updated">): boolean {
  return Object.keys(event.data).some((field) => field !== "status" && field !== "metadata" && field !== "native_session_id");
}
