/** Requests: tried again if the connection breaks, or the daemon asks for patience. Each effect happens once. */
import { ApiError, Unreachable, apiError } from "./errors.js";

export interface ClientOptions {
  /** Where the daemon is. In a browser, the page's own origin if it is left out. */
  baseUrl?: string;
  /** The daemon's token, or an API key. */
  token?: string;
  /** How often a request is tried in all. */
  attempts?: number;
  /** For how many seconds a stream tries to reconnect to a daemon that does not answer. */
  patience?: number;
  /** In place of the global `fetch`. */
  fetch?: typeof fetch;
}

export interface RequestOptions {
  query?: object;
  body?: unknown;
  headers?: Record<string, string>;
  idempotencyKey?: string;
  signal?: AbortSignal;
}

const FIRST_WAIT = 250;
const LONGEST_WAIT = 10_000;

export class Transport {
  readonly baseUrl: string;
  readonly patience: number;
  private readonly token: string | undefined;
  private readonly attempts: number;
  private readonly fetch: typeof fetch;

  constructor(options: ClientOptions) {
    this.baseUrl = (options.baseUrl ?? globalThis.location?.origin ?? "http://127.0.0.1:2468").replace(/\/+$/, "");
    this.token = options.token;
    this.attempts = options.attempts ?? 5;
    this.patience = options.patience ?? 300;
    this.fetch = options.fetch ?? ((...given) => globalThis.fetch(...given));
  }

  /** A response that succeeded. Throws `ApiError` or `Unreachable`; an abort throws the signal's reason. */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const headers: Record<string, string> = { ...options.headers };
    if (method === "POST") headers["idempotency-key"] = options.idempotencyKey ?? crypto.randomUUID();
    if (options.body !== undefined) headers["content-type"] = "application/json";
    const body = options.body === undefined ? null : JSON.stringify(options.body);
    for (let attempt = 1; ; attempt++) {
      const last = attempt >= this.attempts;
      let wait = delay(attempt);
      try {
        const response = await this.open(method, path, { ...options, headers }, body);
        if (response.ok) return response;
        const error = await apiError(response);
        const seconds = Number(response.headers.get("retry-after"));
        if (last || response.status !== 503 || !seconds) throw error;
        wait = Math.min(1000 * seconds, LONGEST_WAIT);
      } catch (error) {
        options.signal?.throwIfAborted();
        if (error instanceof ApiError) throw error;
        if (last) throw new Unreachable(this.baseUrl, error);
      }
      await sleep(wait, options.signal);
    }
  }

  /** One attempt, whatever the daemon answers. */
  open(method: string, path: string, options: RequestOptions, body: string | null = null): Promise<Response> {
    const headers: Record<string, string> = { ...options.headers };
    if (this.token) headers["authorization"] = `Bearer ${this.token}`;
    return this.fetch(this.baseUrl + path + search(options.query), {
      method,
      headers,
      body,
      signal: options.signal ?? null,
      cache: "no-store",
    });
  }
}

/** Milliseconds before the next attempt, with jitter. */
export function delay(failures: number): number {
  return Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failures - 1)) * (0.75 + Math.random() / 2);
}

export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

function search(query: object = {}): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || (Array.isArray(value) && !value.length)) continue;
    pairs.set(name, Array.isArray(value) ? value.join(",") : String(value));
  }
  const text = pairs.toString();
  return text && `?${text}`;
}
