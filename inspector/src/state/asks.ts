/** Everything that agents wait for, over all sessions. */
import { computed, signal } from "@preact/signals";
import { get, post } from "../api/client";
import type { Ask, Event, PermissionReply } from "../api/types";

export const asks = signal<ReadonlyMap<string, Ask>>(new Map());
export const pendingAsks = computed(() => [...asks.value.values()].sort((a, b) => a.askedAt - b.askedAt));

const KINDS = { permission: "permission_id", question: "question_id", tool: "tool_id" } as const;

export async function loadAsks(): Promise<void> {
  const found = await get<{ asks: Ask[] }>("v1/asks");
  asks.value = new Map(found.asks.map((ask) => [ask.askId, ask]));
}

/** Returns the asks that are new. */
export function noteAsks(events: Event[]): Ask[] {
  const all = new Map(asks.value);
  const fresh: Ask[] = [];
  for (const event of events) {
    const [kind, what] = event.type.split(".") as [keyof typeof KINDS, string];
    if (!(kind in KINDS)) continue;
    const askId = String((event.data as Record<string, unknown>)[KINDS[kind]]);
    if (what === "resolved") all.delete(askId);
    else if (!all.has(askId)) {
      const ask: Ask = {
        askId,
        kind,
        sessionId: event.session_id,
        sequence: event.sequence,
        askedAt: Date.parse(event.time),
        pending: true,
        request: event.data,
        answer: null,
      };
      all.set(askId, ask);
      fresh.push(ask);
    }
  }
  if (fresh.length || all.size !== asks.value.size) asks.value = all;
  return fresh.filter((ask) => all.has(ask.askId));
}

const at = (session: string, kind: string, id: string) =>
  `v1/sessions/${encodeURIComponent(session)}/${kind}/${encodeURIComponent(id)}`;

export function replyToPermission(session: string, id: string, reply: PermissionReply, message?: string): Promise<void> {
  return post(`${at(session, "permissions", id)}/reply`, message ? { reply, message } : { reply });
}

export function replyToQuestion(session: string, id: string, answers: string[][]): Promise<void> {
  return post(`${at(session, "questions", id)}/reply`, { answers });
}

export function rejectQuestion(session: string, id: string, message?: string): Promise<void> {
  return post(`${at(session, "questions", id)}/reject`, message ? { message } : {});
}

export function replyToTool(session: string, id: string, output: string, isError: boolean): Promise<void> {
  return post(`${at(session, "tools", id)}/reply`, { output, isError });
}
