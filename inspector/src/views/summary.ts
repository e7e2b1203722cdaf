/** An event in a line. */
import type { Event, Item } from "../api/types";
import { money, tokenParts } from "../text/format";

const LONGEST = 200;

export function summaryOf(event: Event): string {
  return oneLine(tell(event)).slice(0, LONGEST);
}

function tell(event: Event): string {
  switch (event.type) {
    case "item.started":
    case "item.completed":
      return `${event.data.item.role ?? ""} ${event.data.item.kind} ${contentOf(event.data.item)}`;
    case "item.delta":
      return `${event.data.kind} ${JSON.stringify(event.data.delta)}`;
    case "permission.requested":
    case "permission.resolved":
      return `${event.data.status} ${event.data.action}`;
    case "question.requested":
    case "question.resolved":
      return `${event.data.status} ${event.data.prompt}`;
    case "tool.requested":
    case "tool.resolved":
      return `${event.data.status} ${event.data.name}`;
    case "turn.started":
      return event.data.turn_id;
    case "model.responded": {
      const { model, usage, cost_usd } = event.data;
      return `${model ?? ""} ${tokenParts(usage)} ${money(cost_usd ?? 0)}`;
    }
    case "turn.ended":
      return `${event.data.stop_reason} ${event.data.error ?? ""}`;
    case "error":
      return `${event.data.code ?? ""} ${event.data.message}`;
    case "agent.unparsed":
      return event.data.error;
    case "session.ended":
      return `${event.data.reason} ${event.data.message ?? ""}`;
    default:
      return JSON.stringify(event.data);
  }
}

function contentOf(item: Item): string {
  return item.content
    .map((part) => {
      if ("text" in part) return part.text.slice(0, LONGEST);
      if (part.type === "tool_call") return `${part.name} ${part.arguments.slice(0, LONGEST)}`;
      if (part.type === "tool_result") return part.output.slice(0, LONGEST);
      return part.type === "status" ? `${part.label} ${part.detail ?? ""}` : part.type;
    })
    .join(" ");
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
