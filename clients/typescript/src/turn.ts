/** What a message led to. */
import type { Event, EventOf, Item, StopReason, Usage } from "./types.js";

export interface Turn {
  turnId: string;
  stopReason: StopReason;
  /** The agent's last message. */
  text: string;
  /** All items, in order of completion. */
  items: Item[];
  usage: Usage | null;
  costUsd: number | null;
  error: string | null;
}

export type AskEvent = EventOf<"permission.requested"> | EventOf<"question.requested"> | EventOf<"tool.requested">;

export function isAsk(event: Event): event is AskEvent {
  return event.type === "permission.requested" || event.type === "question.requested" || event.type === "tool.requested";
}

/** The session ended before the turn of a message did. */
export class SessionEnded extends Error {
  override name = "SessionEnded";
}

/** Selects the events of the turn that a message started. Turns of a session never overlap. */
export async function* turnOf(events: AsyncIterable<Event>, itemId: string): AsyncGenerator<Event, void, void> {
  let inside = false;
  for await (const event of events) {
    if (event.type === "turn.started" && event.data.input_item_ids.includes(itemId)) inside = true;
    if (inside) yield event;
    if (inside && event.type === "turn.ended") return;
    if (event.type === "session.ended") throw new SessionEnded(event.data.message ?? "The session has ended.");
  }
  throw new SessionEnded("The session has ended.");
}

export class TurnSummary {
  private readonly items: Item[] = [];

  /** The turn, with its last event. */
  add(event: Event): Turn | null {
    if (event.type === "item.completed") this.items.push(event.data.item);
    if (event.type !== "turn.ended") return null;
    const { turn_id, stop_reason, usage, cost_usd, error } = event.data;
    const said = this.items.filter((item) => item.kind === "message" && item.role === "assistant" && !item.subagent);
    return {
      turnId: turn_id,
      stopReason: stop_reason,
      text: said.map(textOf).findLast((text) => text !== "") ?? "",
      items: this.items,
      usage: usage ?? null,
      costUsd: cost_usd ?? null,
      error: error ?? null,
    };
  }
}

export function textOf(item: Item): string {
  return item.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** Selects the text that the agent writes for its user: not the user's own, no tool's output, no sub-agent's. */
export class SpokenText {
  private readonly subagents = new Set<string>();

  text(event: Event): string {
    if (event.type === "item.started" && event.data.item.subagent) this.subagents.add(event.data.item.item_id);
    if (event.type !== "item.delta" || event.data.kind !== "text" || this.subagents.has(event.data.item_id)) return "";
    return (event.data.role ?? "assistant") === "assistant" ? event.data.delta : "";
  }
}
