/** The page's life: the stream feeds the stores, once a frame; after a gap everything is loaded again. */
import { batch, effect, signal } from "@preact/signals";
import { onTokenChange } from "../api/token";
import type { Event } from "../api/types";
import type { Connection } from "../stream/feed";
import { connect, type Hub } from "../stream/hub";
import { agents, loadAgents } from "./agents";
import { asks, loadAsks, noteAsks } from "./asks";
import { Conversation } from "./conversation";
import { perFrame } from "./frames";
import { identity, loadIdentity, may } from "./identity";
import { announce, notify } from "./notices";
import { openId, route } from "./route";
import { dropDeleted, loaded, loadSessions, noteEvents } from "./sessions";

export const connection = signal<Connection>({ state: "connecting" });
export const conversation = signal<Conversation | null>(null);
/** The time, for "2 m ago": moves every ten seconds. */
export const now = signal(Date.now());
/** Events of the open session as they come, for those who show events. */
export const lastEvents = signal<Event[]>([]);

const DELETED_MS = 5000;
let hub: Hub | null = null;

export function start(): void {
  void loadIdentity();
  onTokenChange(() => location.reload());
  hub = connect({ connection: heard, events: perFrame(take) });
  setInterval(() => (now.value = Date.now()), 10_000);
  setInterval(() => {
    if (!document.hidden && connection.value.state === "open") void dropDeleted().catch(() => undefined);
  }, DELETED_MS);
  document.addEventListener("visibilitychange", () => !document.hidden && hub?.retryNow());
  addEventListener("online", () => hub?.retryNow());
  effect(() => open(openId.value));
  effect(() => {
    const waiting = asks.value.size;
    document.title = `${waiting ? `(${waiting}) ` : ""}everyagent`;
  });
}

export function retryNow(): void {
  hub?.retryNow();
}

function heard(next: Connection, resumed: boolean): void {
  const before = connection.value.state;
  connection.value = next;
  if (next.state !== "open" || before === "open") return;
  if (!identity.value) void loadIdentity();
  if (!resumed || !loaded.value) void loadAll();
  void conversation.value?.resume();
}

async function loadAll(): Promise<void> {
  try {
    await Promise.all([loadSessions(), loadAsks(), agents.value ? null : loadAgents()]);
  } catch (error) {
    notify(error instanceof Error ? error.message : String(error), "error");
  }
}

function take(events: Event[]): void {
  batch(() => {
    noteEvents(events);
    const asked = noteAsks(events);
    if (may("answer")) announce(asked);
    const open = conversation.value;
    if (!open) return;
    const mine = events.filter((event) => event.session_id === open.id);
    open.take(mine);
    if (mine.length) lastEvents.value = mine;
  });
}

function open(id: string | null): void {
  if (conversation.peek()?.id === id) return;
  conversation.peek()?.close();
  hub?.watch(id);
  const next = id === null ? null : new Conversation(id);
  conversation.value = next;
  const here = route.peek();
  void next?.open(here.view === "session" && here.tab === "conversation" ? here.at : null);
}
