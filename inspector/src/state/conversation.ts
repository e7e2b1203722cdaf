/**
 * The open session: a window of its log as a transcript. Opens at its end (or around a sequence), loads older and newer
 * pages as they are wanted, follows live events, and fills every gap by asking for what is missing.
 */
import { signal } from "@preact/signals";
import { call, get } from "../api/client";
import type { Event, EventType, QueuedMessage } from "../api/types";
import { Transcript } from "../transcript/transcript";

interface Page {
  events: Event[];
  hasMore: boolean;
  head: number;
}

interface Opened {
  events: Event[];
  atStart: boolean;
  atEnd: boolean;
  head: number;
}

/** The text of an item is whole in the event that completes it, so its deltas need not be read. */
export const WITHOUT_DELTAS: EventType[] = [
  "session.started", "session.updated", "session.ended", "turn.started", "turn.ended", "item.started", "item.completed",
  "permission.requested", "permission.resolved", "question.requested", "question.resolved", "tool.requested", "tool.resolved",
  "error", "agent.unparsed",
];
const FIRST = 60;
const PAGE = 300;
const DELTAS = 5000;
/** Beyond this many entries, the far end of the window is let go. */
export const MOST_ENTRIES = 4000;

export class Conversation {
  transcript = new Transcript();
  /** Grows with every change. */
  readonly revision = signal(0);
  /** Grows with every load that ended. */
  readonly loads = signal(0);
  readonly state = signal<"loading" | "ready" | "gone">("loading");
  readonly problem = signal<string | null>(null);
  /** The window begins at the session's first event. */
  readonly atStart = signal(false);
  /** The window reaches the newest event: it grows as events come. */
  readonly atEnd = signal(true);
  /** Messages that wait for their turn, whoever sent them. */
  readonly queue = signal<QueuedMessage[]>([]);
  private begun = new Set<string>();
  private low = 0;
  private head = 0;
  private waiting: Event[] = [];
  private busy = false;
  private load: Promise<void> = Promise.resolve();
  /** Something may have been missed while a load was under way. */
  private behind = false;
  private at: number | null = null;
  private closed = false;

  constructor(readonly id: string) {}

  async open(at: number | null): Promise<void> {
    this.at = at;
    while (this.busy) await this.load;
    await this.exclusively(async () => {
      const fresh = new Transcript();
      const { events, atStart, atEnd, head } = at === null ? await this.newest() : await this.around(at);
      for (const event of events) fresh.apply(event);
      if (atEnd) await this.catchUpOpenItems(fresh, head);
      this.low = events[0]?.sequence ?? 1;
      this.head = head;
      this.atStart.value = atStart;
      this.atEnd.value = atEnd;
      this.transcript = fresh;
      this.state.value = "ready";
    });
  }

  private async newest(): Promise<Opened> {
    const page = await this.page({ order: "desc", limit: FIRST, types: WITHOUT_DELTAS });
    return { events: page.events.reverse(), atStart: !page.hasMore, atEnd: true, head: page.head };
  }

  private async around(at: number): Promise<Opened> {
    const [before, after] = await Promise.all([
      this.page({ order: "desc", limit: FIRST / 2, offset: at, types: WITHOUT_DELTAS }),
      this.page({ limit: FIRST / 2, offset: at - 1, types: WITHOUT_DELTAS }),
    ]);
    const events = [...before.events.reverse(), ...after.events];
    const head = after.hasMore ? (events.at(-1)?.sequence ?? at) : after.head;
    return { events, atStart: !before.hasMore, atEnd: !after.hasMore, head };
  }

  async older(): Promise<void> {
    if (this.atStart.value || this.busy) return;
    await this.exclusively(async () => {
      const page = await this.page({ order: "desc", limit: PAGE, offset: this.low, types: WITHOUT_DELTAS });
      for (const event of page.events) this.transcript.apply(event);
      this.low = page.events.at(-1)?.sequence ?? 1;
      this.atStart.value = !page.hasMore;
    });
  }

  async newer(): Promise<void> {
    if (this.atEnd.value || this.busy) return;
    await this.exclusively(async () => {
      const page = await this.page({ limit: PAGE, offset: this.head, types: WITHOUT_DELTAS });
      for (const event of page.events) this.transcript.apply(event);
      this.head = page.hasMore ? (page.events.at(-1)?.sequence ?? this.head) : page.head;
      if (page.hasMore) return;
      await this.catchUpOpenItems(this.transcript, page.head);
      this.atEnd.value = true;
    });
  }

  /** Which entry at the top shows an event, or stands where it would. */
  async entryAt(sequence: number): Promise<string | null> {
    const page = await this.page({ limit: 1, offset: sequence - 1 });
    const event = page.events[0];
    const shown = event ? this.transcript.rootOf(this.transcript.keyOf(event)) : null;
    return shown ?? this.transcript.top().findLast((key) => (this.transcript.entries.get(key)?.sequence ?? 0) <= sequence) ?? null;
  }

  covers(sequence: number): boolean {
    return this.low <= sequence && (this.atEnd.value || sequence <= this.head);
  }

  /** Live events, of this session only. */
  take(events: Event[]): void {
    if (this.closed || !events.length) return;
    for (const event of events) if (event.type === "item.started" && event.data.item.role === "user") this.begun.add(event.data.item.item_id);
    if (this.queue.value.some((message) => this.begun.has(message.itemId))) this.waits(this.queue.value);
    if (!this.atEnd.value) return;
    if (this.busy) {
      for (const event of events) this.waiting.push(event);
      return;
    }
    if (this.state.value !== "ready") return;
    for (const [n, event] of events.entries()) {
      if (event.sequence <= this.head) continue;
      if (event.sequence > this.head + 1) {
        this.waiting = events.slice(n);
        void this.fill();
        break;
      }
      this.transcript.apply(event);
      this.head = event.sequence;
    }
    this.revision.value += 1;
  }

  /** No event tells that a message was taken in, only that its turn began. */
  async loadQueue(): Promise<void> {
    const found = await get<{ messages: QueuedMessage[] }>(`v1/sessions/${encodeURIComponent(this.id)}/messages/queue`).catch(() => null);
    if (found && !this.closed) this.waits(found.messages);
  }

  /** Takes a message out of the queue. Fails if its turn has begun. */
  async withdraw(itemId: string): Promise<void> {
    await call("DELETE", `v1/sessions/${encodeURIComponent(this.id)}/messages/queue/${encodeURIComponent(itemId)}`);
    this.waits(this.queue.value.filter((message) => message.itemId !== itemId));
  }

  private waits(messages: QueuedMessage[]): void {
    this.queue.value = messages.filter((message) => !this.begun.has(message.itemId));
  }

  /** The stream is there again: whatever was missed, or the first page if it never came. */
  async resume(): Promise<void> {
    if (this.busy) this.behind = true;
    else if (this.state.value === "loading") await this.open(this.at);
    else if (this.atEnd.value) await this.fill();
    else this.problem.value = null;
  }

  private async fill(): Promise<void> {
    await this.exclusively(async () => {
      for (let more = true; more && !this.closed; ) {
        const page = await this.page({ limit: DELTAS, offset: this.head });
        for (const event of page.events) this.transcript.apply(event);
        this.head = page.events.at(-1)?.sequence ?? this.head;
        more = page.hasMore;
      }
    });
  }

  /** True when so much is loaded that the window had better be opened anew where it is looked at. */
  get full(): boolean {
    return !this.busy && this.transcript.entries.size > MOST_ENTRIES;
  }

  close(): void {
    this.closed = true;
  }

  private async catchUpOpenItems(transcript: Transcript, head: number): Promise<void> {
    const open = transcript.open();
    if (!open.length) return;
    let after = Math.min(...open.map((item) => item.sequence));
    for (let more = true; more && after < head; ) {
      const page = await this.page({ limit: DELTAS, offset: after, types: ["item.delta"] });
      for (const event of page.events) if (event.sequence <= head) transcript.apply(event);
      after = page.events.at(-1)?.sequence ?? head;
      more = page.hasMore;
    }
  }

  /** One load at a time; live events wait for it. */
  private async exclusively(work: () => Promise<void>): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    let done = () => {};
    this.load = new Promise((resolve) => (done = resolve));
    try {
      await work();
      this.problem.value = null;
    } catch (error) {
      this.problem.value = error instanceof Error ? error.message : String(error);
      if ((error as { status?: number }).status === 404) this.state.value = "gone";
    } finally {
      this.busy = false;
      done();
    }
    if (this.closed) return;
    const waiting = this.waiting;
    this.waiting = [];
    this.take(waiting);
    this.revision.value += 1;
    this.loads.value += 1;
    if (!this.behind) return;
    this.behind = false;
    void this.resume();
  }

  private page(query: Record<string, string | number | string[] | undefined>): Promise<Page> {
    return get<Page>(`v1/sessions/${encodeURIComponent(this.id)}/events`, query);
  }
}
