/** A turn as bars on a time axis. Pure. */
import type { Event } from "../api/types";

export type SpanKind = "model" | "tool" | "human" | "program" | "retry";

export interface Span {
  kind: SpanKind;
  label: string;
  /** Milliseconds since 1970; `end` is null while it goes on. */
  start: number;
  end: number | null;
  sequence: number;
  failed: boolean;
}

export interface Turn {
  start: number;
  end: number | null;
  spans: Span[];
}

export function turnOf(events: Event[]): Turn {
  const spans = new Map<string, Span>();
  let [start, end]: [number, number | null] = [Date.parse(events[0]?.time ?? "") || 0, null];
  for (const event of events) {
    const time = Date.parse(event.time);
    const open = (key: string, kind: SpanKind, label: string) => {
      if (!spans.has(key)) spans.set(key, { kind, label, start: time, end: null, sequence: event.sequence, failed: false });
    };
    const close = (key: string, failed = false, label?: string) => {
      const span = spans.get(key);
      if (span && span.end === null) spans.set(key, { ...span, end: time, failed, label: label ?? span.label });
    };
    switch (event.type) {
      case "turn.started":
        start = time;
        break;
      case "turn.ended":
        end = time;
        for (const key of spans.keys()) close(key, true);
        break;
      case "item.started":
      case "item.completed": {
        const item = event.data.item;
        const done = event.type === "item.completed";
        const call = item.content.find((part) => part.type === "tool_call");
        const result = item.content.find((part) => part.type === "tool_result");
        if (call) {
          open(`tool:${call.call_id}`, "tool", call.name);
          if (done && item.status === "failed") close(`tool:${call.call_id}`, true);
        } else if (result) {
          open(`tool:${result.call_id}`, "tool", item.name ?? "tool");
          if (done) close(`tool:${result.call_id}`, item.status === "failed");
        } else if (item.kind === "message" && item.role === "assistant") {
          const does = item.content.some((part) => part.type === "reasoning") ? "thinks and writes" : "writes";
          const label = item.subagent ? `sub-agent ${does}` : does;
          open(`item:${item.item_id}`, "model", label);
          if (done) close(`item:${item.item_id}`, item.status === "failed", label);
        }
        break;
      }
      case "permission.requested":
        open(`ask:${event.data.permission_id}`, "human", `permission: ${event.data.action}`);
        break;
      case "question.requested":
        open(`ask:${event.data.question_id}`, "human", `question: ${event.data.prompt.split("\n")[0]}`);
        break;
      case "tool.requested":
        open(`ask:${event.data.tool_id}`, "program", event.data.name);
        break;
      case "permission.resolved":
        close(`ask:${event.data.permission_id}`, event.data.status === "denied");
        break;
      case "question.resolved":
        close(`ask:${event.data.question_id}`, event.data.status === "rejected");
        break;
      case "tool.resolved":
        close(`ask:${event.data.tool_id}`, event.data.status === "failed");
        break;
      case "error":
        if (event.data.retry) {
          const { attempt, delay_ms } = event.data.retry;
          const label = `retry ${attempt}: ${event.data.code ?? event.data.message}`;
          spans.set(event.event_id, { kind: "retry", label, start: time, end: time + delay_ms, sequence: event.sequence, failed: false });
        }
    }
  }
  return { start, end, spans: [...spans.values()] };
}

/**
 * How long each kind took; times that overlap count once. A tool that waits to be allowed, or for your program, does not
 * run yet. `model` is also whatever no other span covers.
 */
export function shares(turn: Turn, now: number): Record<SpanKind, number> {
  const took = (...kinds: SpanKind[]) => covered(turn.spans.filter((span) => kinds.includes(span.kind)), now);
  const model = Math.max(0, (turn.end ?? now) - turn.start - took("tool", "human", "program", "retry"));
  const tool = took("tool", "human", "program") - took("human", "program");
  return { model, tool, human: took("human"), program: took("program"), retry: took("retry") };
}

function covered(spans: Span[], now: number): number {
  let [total, reached] = [0, -Infinity];
  for (const span of [...spans].sort((a, b) => a.start - b.start)) {
    const end = span.end ?? now;
    total += Math.max(0, end - Math.max(span.start, reached));
    reached = Math.max(reached, end);
  }
  return total;
}

/** Round marks for an axis of this length: about six. */
export function ticks(length: number): number[] {
  const rough = Math.max(1, length) / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? power * 10;
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, index) => index * step);
}
