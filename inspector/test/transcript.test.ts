import { describe, expect, test } from "vitest";
import type { Event, Item } from "../src/api/types";
import type { MessageEntry, ToolEntry } from "../src/transcript/entry";
import { Transcript } from "../src/transcript/transcript";

let sequence = 0;

function event(type: Event["type"], data: unknown, at?: number): Event {
  sequence = at ?? sequence + 1;
  return {
    event_id: `evt_${sequence}`,
    sequence,
    time: new Date(1_700_000_000_000 + sequence * 1000).toISOString(),
    session_id: "s",
    native_session_id: null,
    source: "agent",
    synthetic: false,
    type,
    data,
    raw: null,
  } as Event;
}

function item(id: string, fields: Partial<Item>): Item {
  return { item_id: id, native_item_id: id, parent_id: null, kind: "message", role: "assistant", status: "completed", content: [], ...fields };
}

const call = (id: string, callId: string, fields: Partial<Item> = {}) =>
  item(id, { kind: "tool_call", content: [{ type: "tool_call", name: "bash", arguments: '{"command":"ls"}', call_id: callId }], ...fields });
const result = (id: string, callId: string, output: string, fields: Partial<Item> = {}) =>
  item(id, { kind: "tool_result", role: "tool", content: [{ type: "tool_result", call_id: callId, output, exit_code: 0, duration_ms: 7 }], ...fields });
const delta = (id: string, text: string, kind = "text", index = 0) =>
  event("item.delta", { item_id: id, native_item_id: id, delta: text, content_index: index, kind });

function transcript(events: Event[]): Transcript {
  const made = new Transcript();
  for (const each of events) made.apply(each);
  return made;
}

function texts(made: Transcript): string[] {
  return made.top().map((key) => {
    const entry = made.entries.get(key);
    return entry?.kind === "message" ? entry.parts.map((part) => ("text" in part ? part.text : part.type)).join("|") : key;
  });
}

/** A turn with everything that has more than one event. */
function story(): Event[] {
  sequence = 0;
  return [
    event("session.started", {}),
    event("turn.started", { turn_id: "t1", input_item_ids: ["u"] }),
    event("item.started", { item: item("u", { role: "user", status: "in_progress" }) }),
    event("item.completed", { item: item("u", { role: "user", content: [{ type: "text", text: "do it" }] }) }),
    event("item.started", { item: item("m", { status: "in_progress" }) }),
    delta("m", "Think", "reasoning"),
    delta("m", "Hel", "text", 1),
    delta("m", "lo", "text", 1),
    event("item.started", { item: call("c", "k1", { status: "in_progress" }) }),
    event("item.completed", { item: call("c", "k1") }),
    event("item.completed", {
      item: item("m", { content: [{ type: "reasoning", text: "Think", visibility: "public" }, { type: "text", text: "Hello" }] }),
    }),
    event("permission.requested", { permission_id: "p", action: "bash: ls", status: "requested", item_id: "c" }),
    event("permission.resolved", { permission_id: "p", action: "bash: ls", status: "approved", reply: "once" }),
    event("item.started", { item: result("r", "k1", "", { status: "in_progress" }) }),
    delta("r", "a.txt", "tool_output"),
    event("item.started", { item: item("sub", { subagent: "c", status: "in_progress" }) }),
    event("item.completed", { item: item("sub", { subagent: "c", content: [{ type: "text", text: "below" }] }) }),
    event("item.completed", { item: result("r", "k1", "a.txt") }),
    event("turn.ended", { turn_id: "t1", stop_reason: "end_turn", cost_usd: 0.5 }),
  ];
}

describe("a transcript", () => {
  test("grows by deltas, and what completes an item wins", () => {
    const made = transcript(story().slice(0, 8));
    const open = made.entries.get("item:m") as MessageEntry;
    expect(open.parts).toEqual([
      { type: "reasoning", text: "Think", visibility: "public" },
      { type: "text", text: "Hello" },
    ]);
    expect(made.open()).toEqual([{ item: "m", sequence: 5 }]);
    expect((transcript(story()).entries.get("item:m") as MessageEntry).status).toBe("completed");
  });

  test("joins a call and its result", () => {
    const tool = transcript(story()).entries.get("tool:k1") as ToolEntry;
    expect(tool).toMatchObject({ name: "bash", input: '{"command":"ls"}', output: "a.txt", exitCode: 0, durationMs: 7, status: "completed" });
  });

  test("puts what a sub-agent says below the call that started it", () => {
    const made = transcript(story());
    expect(made.childrenOf("tool:k1").map((entry) => entry.key)).toEqual(["item:sub"]);
    expect(made.top()).not.toContain("item:sub");
    expect(made.rootOf("item:sub")).toBe("tool:k1");
  });

  test("is the same whichever page came first, once the older one is there", () => {
    const whole = story().filter((each) => each.type !== "item.delta");
    const expected = transcript(whole);
    for (let cut = 1; cut < whole.length; cut++) {
      const made = transcript([...whole.slice(cut), ...whole.slice(0, cut)]);
      expect(made.top(), `cut at ${cut}`).toEqual(expected.top());
      expect(made.childrenOf("tool:k1").map((entry) => entry.key), `cut at ${cut}`).toEqual(["item:sub"]);
      for (const [key, entry] of expected.entries) {
        expect(made.entries.get(key), `${key} cut at ${cut}`).toMatchObject({ kind: entry.kind, sequence: entry.sequence });
      }
      expect((made.entries.get("tool:k1") as ToolEntry).output).toBe("a.txt");
    }
  });

  test("takes an event twice without a change", () => {
    const twice = story().flatMap((each) => [each, each]);
    expect(texts(transcript(twice))).toEqual(texts(transcript(story())));
  });

  test("shows a sub-agent at the top while its call is not loaded", () => {
    const made = transcript(story().filter((each) => each.sequence >= 16));
    expect(made.top()).toContain("item:sub");
  });

  test("keeps an ask with its answer, in the place it was asked", () => {
    const made = transcript(story());
    expect(made.entries.get("ask:p")).toMatchObject({ ask: "permission", sequence: 12, resolved: { reply: "once" } });
  });

  test("shows one plan a turn, as it is now", () => {
    sequence = 0;
    const plan = (id: string, states: string[]) =>
      item(id, { kind: "status", name: "plan", turn_id: "t", content: states.map((detail, n) => ({ type: "status" as const, label: `${n}`, detail })) });
    const made = transcript([
      event("item.completed", { item: plan("a", ["in_progress", "pending"]) }),
      event("item.completed", { item: plan("b", ["completed", "completed"]) }),
    ]);
    expect(made.top()).toEqual(["plan:t"]);
    expect(made.entries.get("plan:t")).toMatchObject({ todos: [{ state: "completed" }, { state: "completed" }] });
  });

  test("ends a retry's countdown when something else happens", () => {
    sequence = 0;
    const failing = event("error", { message: "busy", retry: { attempt: 1, delay_ms: 100 } });
    const made = transcript([failing]);
    expect(made.entries.get(failing.event_id)).toMatchObject({ past: false });
    made.apply(event("item.started", { item: item("m", { status: "in_progress" }) }));
    expect(made.entries.get(failing.event_id)).toMatchObject({ past: true });
  });

  test("knows where an event is shown", () => {
    const events = story();
    const made = transcript(events);
    expect(made.keyOf(events[4]!)).toBe("item:m");
    expect(made.keyOf(events[11]!)).toBe("ask:p");
    expect(made.keyOf(events[17]!)).toBe("tool:k1");
    expect(made.keyOf(events.at(-1)!)).toBe("turn:t1");
  });
});

test("a plan is a list of things to do, or one text that waits for approval", () => {
  const status = (id: string, label: string, detail: string) =>
    item(id, { kind: "status", name: "plan", content: [{ type: "status", label, detail }] });
  const made = transcript([
    event("item.completed", { item: status("a", "Test it", "in_progress") }, 1),
    event("item.completed", { item: status("b", "Plan", "# Plan\n1. Test it") }, 2),
  ]);
  expect(made.top().map((key) => made.entries.get(key)?.kind)).toEqual(["plan", "status"]);
});
