/** An event stream that is taken up again where it was cut: each event comes once, in order. */
import { ApiError, Unreachable, apiError } from "./errors.js";
import { SseParser } from "./sse.js";
import { delay, sleep, type Transport } from "./transport.js";
import type { Event } from "./types.js";

/** The daemon says something at least every 10 seconds; a silence of this length is a dead connection. */
const SILENCE = 30_000;

export interface StreamOptions {
  types?: readonly string[];
  includeRaw?: boolean;
  signal?: AbortSignal;
}

/** Ends after `session.ended`. `position` is the id of the last event that is known, if there is one. */
export async function* stream(
  transport: Transport,
  path: string,
  options: StreamOptions,
  position: string | null,
): AsyncGenerator<Event, void, void> {
  let failures = 0;
  let since = Date.now();
  for (;;) {
    const attempt = new Attempt(options.signal);
    try {
      const headers: Record<string, string> = { accept: "text/event-stream" };
      if (position !== null) headers["last-event-id"] = position;
      const { types, includeRaw } = options;
      const response = await transport.open("GET", path, { query: { types, includeRaw }, headers, signal: attempt.signal });
      if (response.status === 204) return; // the session has ended, and there is nothing after the position
      if (!response.ok || !response.body) throw await apiError(response);
      const parser = new SseParser();
      for (const reader = response.body.getReader(); ; ) {
        const { done, value } = await reader.read();
        if (done) break;
        attempt.heard();
        failures = 0;
        since = Date.now();
        for (const message of parser.push(value)) {
          const event = JSON.parse(message.data) as Event;
          position = message.id || position;
          yield event;
          if (event.type === "session.ended" && path !== FEED) return;
        }
      }
    } catch (error) {
      options.signal?.throwIfAborted();
      if (error instanceof ApiError && error.status !== 503) throw error;
      if (Date.now() - since > 1000 * transport.patience) throw new Unreachable(transport.baseUrl, error);
    } finally {
      attempt.end();
    }
    failures += 1;
    await sleep(delay(failures), options.signal);
  }
}

export const FEED = "/v1/events/sse";

/** Aborts a connection that is silent, that the caller aborts, or that nobody reads any more. */
class Attempt {
  private readonly controller = new AbortController();
  private watchdog = this.watch();
  private readonly stop = (): void => this.controller.abort(this.given?.reason);

  constructor(private readonly given: AbortSignal | undefined) {
    if (given?.aborted) this.stop();
    given?.addEventListener("abort", this.stop, { once: true });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  heard(): void {
    clearTimeout(this.watchdog);
    this.watchdog = this.watch();
  }

  end(): void {
    clearTimeout(this.watchdog);
    this.given?.removeEventListener("abort", this.stop);
    this.controller.abort();
  }

  private watch(): ReturnType<typeof setTimeout> {
    return setTimeout(() => this.controller.abort(new Error("the stream was silent")), SILENCE);
  }
}
