/**
 * Events of a session as a list that can be entered anywhere. Unfiltered, sequences have no gap, so a row's number is its
 * sequence and pages are fetched where they are looked at. Filtered by the daemon, matches are gathered from the newest on.
 */
import { get } from "../api/client";
import type { Event } from "../api/types";

const PAGE = 200;
const MOST_PAGES = 60;

interface Page {
  events: Event[];
  hasMore: boolean;
  head: number;
}

export interface EventFilter {
  types: string[];
  text: string;
}

export class EventPages {
  head = 0;
  problem: string | null = null;
  private pages = new Map<number, Event[] | null>();
  private matches: Event[] = [];
  private more = true;
  private asking = false;
  private closed = false;

  constructor(
    private session: string,
    readonly filter: EventFilter,
    private changed: () => void,
  ) {}

  get filtered(): boolean {
    return this.filter.types.length > 0 || this.filter.text !== "";
  }

  get count(): number {
    return this.filtered ? this.matches.length : this.head;
  }

  /** Rows are newest first when filtered, by sequence otherwise. */
  at(index: number): Event | undefined {
    if (this.filtered) return this.matches[index];
    const page = Math.floor(index / PAGE);
    return this.pages.get(page)?.[index % PAGE];
  }

  /** What is about to be seen. */
  want(first: number, last: number): void {
    if (this.filtered) {
      if (last >= this.matches.length - 20) void this.gather();
      return;
    }
    for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page++) void this.fetch(page);
  }

  /** The log grew to here. */
  grow(head: number): void {
    if (head <= this.head) return;
    // The page at the end was not full when it was fetched.
    this.pages.delete(Math.floor(this.head / PAGE));
    this.head = head;
    this.changed();
  }

  close(): void {
    this.closed = true;
  }

  private async fetch(page: number): Promise<void> {
    if (this.pages.has(page) || page * PAGE >= this.head) return;
    this.pages.set(page, null);
    try {
      const found = await this.ask({ offset: page * PAGE, limit: PAGE });
      // An answer that was long under way knows less than one that overtook it.
      if (found.events.length >= (this.pages.get(page)?.length ?? 0)) this.pages.set(page, found.events);
      for (const old of [...this.pages.keys()].slice(0, -MOST_PAGES)) this.pages.delete(old);
    } catch (error) {
      this.pages.delete(page);
      this.problem = (error as Error).message;
    }
    if (!this.closed) this.changed();
  }

  private async gather(): Promise<void> {
    if (this.asking || !this.more) return;
    this.asking = true;
    try {
      const last = this.matches.at(-1)?.sequence;
      const found = await this.ask({ ...this.filter, text: this.filter.text || undefined, order: "desc", offset: last, limit: PAGE });
      this.matches.push(...found.events);
      this.more = found.hasMore;
      this.problem = null;
    } catch (error) {
      this.more = false;
      this.problem = (error as Error).message;
    }
    this.asking = false;
    if (!this.closed) this.changed();
  }

  private ask(query: Record<string, string | number | string[] | undefined>): Promise<Page> {
    return get<Page>(`v1/sessions/${encodeURIComponent(this.session)}/events`, query);
  }
}
