/** Calls of the API. Every failure is a `Failure` that says what happened in the daemon's own words. */
import type { Problem } from "./types";
import { token } from "./token";

export class Failure extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    /** The field of the request that was refused. */
    readonly field: string | null = null,
  ) {
    super(detail);
  }
}

/** Relative to the page, which lives in `/ui/`: so it works behind a prefix, too. */
const ROOT = new URL("../", globalThis.location?.href ?? "http://localhost/ui/").pathname;

type Method = "GET" | "POST" | "PATCH" | "DELETE";
type Query = Record<string, string | number | boolean | string[] | undefined>;

export function address(path: string, query: Query = {}): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || (Array.isArray(value) && !value.length)) continue;
    pairs.set(name, Array.isArray(value) ? value.join(",") : String(value));
  }
  const text = pairs.toString();
  return ROOT + path + (text ? `?${text}` : "");
}

export function headers(more: Record<string, string> = {}, secret: string | null = token()): Record<string, string> {
  return secret ? { authorization: `Bearer ${secret}`, ...more } : more;
}

export async function call(method: Method, path: string, query?: Query, body?: unknown, signal?: AbortSignal, as = headers()): Promise<Response> {
  const init: RequestInit = { method, headers: as, signal: signal ?? null, credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    init.headers = { ...as, "content-type": "application/json" };
    init.body = JSON.stringify(body);
  }
  let response: Response;
  try {
    response = await fetch(address(path, query), init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Failure(0, "unreachable", "The daemon does not answer. Is it running?");
  }
  if (!response.ok) throw await failure(response);
  return response;
}

export async function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  return (await (await call("GET", path, query, undefined, signal)).json()) as T;
}

export async function post<T = void>(path: string, body: unknown = {}): Promise<T> {
  const response = await call("POST", path, undefined, body);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

async function failure(response: Response): Promise<Failure> {
  try {
    const problem = (await response.json()) as Problem & { field?: string | null };
    return new Failure(response.status, String(problem.code), String(problem.detail ?? problem.title), problem.field ?? null);
  } catch {
    return new Failure(response.status, "unknown", `The daemon answered ${response.status}.`);
  }
}
