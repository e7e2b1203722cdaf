/** The stream of all sessions: read for ever, taken up again where it was cut. Runs in a worker or in the page. */
import type { Event } from "../api/types";
import { SseParser } from "../../../clients/typescript/src/sse";

export type Connection =
  | { state: "connecting" }
  | { state: "open" }
  | { state: "lost"; retryAt: number; detail: string }
  | { state: "refused"; status: number; detail: string };

export interface FeedListener {
  /** `resumed` is false when events may have been missed: whoever holds state must load it again. */
  connection(now: Connection, resumed: boolean): void;
  events(batch: Event[]): void;
}

const FIRST_WAIT = 300;
const LONGEST_WAIT = 10_000;
/** The daemon says something at least every 10 seconds; a silence of this length is a dead connection. */
const SILENCE = 30_000;

export class Feed {
  private position: string | null = null;
  private stopped = false;
  private failures = 0;
  private abort = new AbortController();
  private wake: (() => void) | null = null;

  constructor(
    private url: string,
    private token: string | null,
    private listener: FeedListener,
  ) {}

  async run(): Promise<void> {
    while (!this.stopped) {
      this.listener.connection({ state: "connecting" }, true);
      const outcome = await this.once().catch((error: unknown) => `The connection broke: ${String(error)}`);
      if (this.stopped) return;
      if (outcome instanceof Refused) {
        this.listener.connection({ state: "refused", status: outcome.status, detail: outcome.detail }, false);
        return;
      }
      const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.failures) * (0.75 + Math.random() / 2);
      this.failures += 1;
      this.listener.connection({ state: "lost", retryAt: Date.now() + wait, detail: outcome }, true);
      await this.pause(wait);
    }
  }

  /** Do not wait: somebody looks at the page again, or the network is back. */
  retryNow(): void {
    this.wake?.();
  }

  stop(): void {
    this.stopped = true;
    this.abort.abort();
    this.wake?.();
  }

  private async once(): Promise<string | Refused> {
    this.abort = new AbortController();
    const abort = this.abort;
    let watchdog = setTimeout(() => abort.abort(), SILENCE);
    try {
      const headers: Record<string, string> = { accept: "text/event-stream" };
      if (this.token) headers.authorization = `Bearer ${this.token}`;
      if (this.position) headers["last-event-id"] = this.position;
      const response = await fetch(this.url, { headers, signal: abort.signal, credentials: "same-origin", cache: "no-store" });
      if (response.status === 401 || response.status === 403) {
        const problem = (await response.json().catch(() => ({}))) as { detail?: string };
        return new Refused(response.status, problem.detail ?? "");
      }
      if (response.status === 400 && this.position) {
        this.position = null; // another daemon, or another log: begin from now
        return "The daemon does not know where we were.";
      }
      if (!response.ok || !response.body) return `The daemon answered ${response.status}.`;
      this.listener.connection({ state: "open" }, this.position !== null);
      this.failures = 0;
      const parser = new SseParser();
      for (const reader = response.body.getReader(); ; ) {
        const { done, value } = await reader.read();
        clearTimeout(watchdog);
        if (done) return "The daemon closed the connection.";
        watchdog = setTimeout(() => abort.abort(), SILENCE);
        this.take(parser.push(value));
      }
    } finally {
      clearTimeout(watchdog);
    }
  }

  private take(messages: ReturnType<SseParser["push"]>): void {
    const last = messages.at(-1);
    if (!last) return;
    this.listener.events(messages.map((message) => JSON.parse(message.data) as Event));
    this.position = last.id;
  }

  private pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

class Refused {
  constructor(
    readonly status: number,
    readonly detail: string,
  ) {}
}
