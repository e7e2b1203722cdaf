/** The list of sessions, live. Events change what they say; the rest is asked for again, now and then. */
import { batch, signal } from "@preact/signals";
import { call, Failure, get, post } from "../api/client";
import type { Cancelled, CreateSession, Event, Hit, RewindSession, RewoundSession, SendMessage, Session, Status, UpdateSession } from "../api/types";

export interface Filter {
  text: string;
  status: Status | "";
  agent: string;
}

export const sessions = signal<ReadonlyMap<string, Session>>(new Map());
/** By this they are sorted: when something began or was asked last, not every delta. */
const activity = new Map<string, number>();
export const filter = signal<Filter>({ text: "", status: "", agent: "" });
export const hits = signal<Hit[] | null>(null);
export const nextPage = signal<string | null>(null);
export const loaded = signal(false);

const PAGE = 100;
const MOST_PAGES = 5;
const AGAIN_MS = 1000;
const asked = new Map<string, ReturnType<typeof setTimeout>>();
const others = new BroadcastChannel("everyagent.sessions");
others.onmessage = ({ data }: MessageEvent<{ deleted: string }>) => forget(data.deleted);

export async function loadSessions(more = false): Promise<void> {
  const { status, agent } = filter.value;
  const query = { limit: PAGE, status: status || undefined, agent: agent || undefined, page: more ? (nextPage.value ?? undefined) : undefined };
  const page = await get<{ sessions: Session[]; nextPage: string | null }>("v1/sessions", query);
  batch(() => {
    const all = new Map(more ? sessions.value : []);
    for (const session of page.sessions) {
      all.set(session.sessionId, session);
      if (!activity.has(session.sessionId)) activity.set(session.sessionId, session.updatedAt);
    }
    sessions.value = all;
    nextPage.value = page.nextPage;
    loaded.value = true;
  });
}

/** Of a session that is deleted after it ended, no event tells: those that are gone are looked for. */
export async function dropDeleted(): Promise<void> {
  const known = [...sessions.value.values()];
  const there = new Set<string>();
  let page: string | undefined;
  let oldest = Infinity;
  for (let asked = 0; asked < MOST_PAGES && known.some((session) => session.createdAt < oldest); asked++) {
    const found = await get<{ sessions: Session[]; nextPage: string | null }>("v1/sessions", { limit: PAGE, page });
    for (const session of found.sessions) there.add(session.sessionId);
    page = found.nextPage ?? undefined;
    oldest = page ? (found.sessions.at(-1)?.createdAt ?? 0) : -Infinity;
    if (!page) break;
  }
  for (const { sessionId, createdAt } of known) if (createdAt > oldest && !there.has(sessionId)) forget(sessionId);
}

export function sorted(): Session[] {
  const { text, status, agent } = filter.value;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return [...sessions.value.values()]
    .filter((session) => (!status || session.status === status) && (!agent || session.agent === agent))
    .filter((session) => {
      const hay = [session.title, session.sessionId, session.agent, session.model, session.directory].join(" ").toLowerCase();
      return words.every((word) => hay.includes(word));
    })
    .sort((a, b) => (activity.get(b.sessionId) ?? 0) - (activity.get(a.sessionId) ?? 0));
}

const RECENT = 6;

/** The directories of the sessions that were active last. */
export function recentDirectories(): string[] {
  const byActivity = [...sessions.value.values()].sort((a, b) => (activity.get(b.sessionId) ?? 0) - (activity.get(a.sessionId) ?? 0));
  return [...new Set(byActivity.flatMap((session) => session.worktree?.repository ?? session.directory ?? []))].slice(0, RECENT);
}

/** Full text over what was said, by the daemon. */
export async function search(text: string, signal: AbortSignal): Promise<void> {
  if (text.trim().length < 2) hits.value = null;
  else hits.value = (await get<{ hits: Hit[] }>("v1/search", { q: text, limit: 30 }, signal)).hits;
}

export function noteEvents(events: Event[]): void {
  const all = new Map(sessions.value);
  let changed = false;
  for (const event of events) {
    const known = all.get(event.session_id);
    if (event.type === "item.delta") continue;
    if (/^(session\.started|turn\.started|.*\.requested)$/.test(event.type)) {
      activity.set(event.session_id, Date.parse(event.time));
    }
    if (known) {
      all.set(event.session_id, { ...known, ...changes(event), updatedAt: Date.parse(event.time), eventCount: event.sequence });
      changed = true;
    }
    askAgain(event.session_id);
  }
  if (changed) sessions.value = all;
}

function changes(event: Event): Partial<Session> {
  if (event.type === "session.ended") return { status: "ended", ended: true };
  if (event.type !== "session.updated") return {};
  const { status, title, model, variant, agent_mode, permission_mode } = event.data;
  return {
    ...(status !== undefined && { status }),
    ...(title !== undefined && { title }),
    ...(model !== undefined && { model }),
    ...(variant !== undefined && { variant }),
    ...(agent_mode !== undefined && { agentMode: agent_mode }),
    ...(permission_mode !== undefined && { permissionMode: permission_mode }),
  };
}

/** Cost, usage and counts are the daemon's to add up. */
function askAgain(id: string): void {
  if (asked.has(id)) return;
  asked.set(
    id,
    setTimeout(() => {
      asked.delete(id);
      void refresh(id);
    }, AGAIN_MS),
  );
}

export async function refresh(id: string): Promise<Session | null> {
  try {
    const session = await get<Session>(`v1/sessions/${encodeURIComponent(id)}`);
    keep(session);
    return session;
  } catch (error) {
    if (error instanceof Failure && error.status === 404) forget(id);
    return null;
  }
}

function keep(session: Session): void {
  if (!activity.has(session.sessionId)) activity.set(session.sessionId, session.updatedAt);
  sessions.value = new Map(sessions.value).set(session.sessionId, session);
}

function forget(id: string): void {
  const all = new Map(sessions.value);
  if (all.delete(id)) sessions.value = all;
}

const at = (id: string) => `v1/sessions/${encodeURIComponent(id)}`;

export async function createSession(request: CreateSession): Promise<Session> {
  const session = await post<Session>("v1/sessions", request);
  keep(session);
  return session;
}

export async function updateSession(id: string, change: UpdateSession): Promise<void> {
  keep((await (await call("PATCH", at(id), undefined, change)).json()) as Session);
}

export async function forkSession(id: string, sequence?: number): Promise<Session> {
  const session = await post<Session>(`${at(id)}/fork`, sequence ? { sequence } : {});
  keep(session);
  return session;
}

export function rewindSession(id: string, request: RewindSession): Promise<RewoundSession> {
  return post<RewoundSession>(`${at(id)}/rewind`, request);
}

export async function terminateSession(id: string): Promise<void> {
  await post(`${at(id)}/terminate`);
}

/** Messages of a session that were not sent, for where its messages are written. */
export const unsent = signal<{ id: string; messages: SendMessage[] } | null>(null);

/** Stops the turn. Messages that wait are not sent: they go back to where messages are written. */
export async function stopTurn(id: string): Promise<void> {
  const response = await call("POST", `${at(id)}/cancel`, { queued: "withdraw" });
  const { withdrawn: messages = [] } = (await response.json()) as Cancelled;
  if (messages.length) unsent.value = { id, messages };
}

export async function deleteSession(id: string): Promise<void> {
  await call("DELETE", at(id));
  forget(id);
  others.postMessage({ deleted: id });
}

export async function exportSession(id: string, format: string): Promise<void> {
  const response = await call("GET", `${at(id)}/export`, { format });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = `${id}.${format === "markdown" ? "md" : format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
