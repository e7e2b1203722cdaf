import { describe, expect, test } from "vitest";
import type { Event } from "../src/api/types";
import { shares, ticks, turnOf } from "../src/transcript/spans";

let sequence = 0;
const at = (seconds: number, type: string, data: unknown) =>
  ({ event_id: `e${++sequence}`, sequence, time: new Date(seconds * 1000).toISOString(), type, data }) as unknown as Event;
const message = (id: string, content: unknown[] = []) => ({ item: { item_id: id, kind: "message", role: "assistant", status: "completed", content } });
const call = { item: { item_id: "c", kind: "tool_call", status: "completed", content: [{ type: "tool_call", name: "bash", call_id: "k", arguments: "" }] } };
const result = { item: { item_id: "r", kind: "tool_result", status: "failed", content: [{ type: "tool_result", call_id: "k", output: "" }] } };

describe("a turn as bars", () => {
  const events = [
    at(0, "turn.started", { turn_id: "t" }),
    at(1, "item.started", message("m")),
    at(3, "item.completed", message("m", [{ type: "reasoning", text: "" }])),
    at(3, "item.started", call),
    at(4, "permission.requested", { permission_id: "p", action: "bash" }),
    at(6, "permission.resolved", { permission_id: "p", status: "approved" }),
    at(8, "item.completed", result),
    at(8, "error", { message: "busy", retry: { attempt: 1, delay_ms: 1000 } }),
    at(10, "turn.ended", { turn_id: "t", stop_reason: "end_turn" }),
  ];

  test("has what the model, tools, people and retries took", () => {
    const turn = turnOf(events);
    expect(turn.spans.map((span) => [span.kind, span.label, span.start, span.end, span.failed])).toEqual([
      ["model", "thinks and writes", 1000, 3000, false],
      ["tool", "bash", 3000, 8000, true],
      ["human", "permission: bash", 4000, 6000, false],
      ["retry", "retry 1: busy", 8000, 9000, false],
    ]);
    expect(shares(turn, 0)).toEqual({ model: 4000, tool: 3000, human: 2000, program: 0, retry: 1000 });
  });

  test("closes what a cut turn left open", () => {
    const cut = turnOf([events[0]!, events[3]!, events[8]!]);
    expect(cut.spans).toMatchObject([{ kind: "tool", end: 10_000, failed: true }]);
  });

  test("goes on while the turn does", () => {
    expect(turnOf(events.slice(0, 5))).toMatchObject({ end: null, spans: [{}, { end: null }, { end: null }] });
    expect(shares(turnOf(events.slice(0, 5)), 5000)).toMatchObject({ model: 3000, tool: 1000, human: 1000 });
  });

  test("has round marks on its axis", () => {
    expect(ticks(10_000)).toEqual([0, 2000, 4000, 6000, 8000, 10_000]);
    expect(ticks(7)).toEqual([0, 2, 4, 6]);
    expect(ticks(0)).toEqual([0]);
  });
});
