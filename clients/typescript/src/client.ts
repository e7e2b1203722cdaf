import type { Answer, CallOptions, MethodOf, Path } from "./operations.js";
import { Session } from "./session.js";
import { FEED, stream, type StreamOptions } from "./stream.js";
import { Transport, type ClientOptions } from "./transport.js";
import type { AgentInfo, AskInfo, CreateSession, Event, SessionInfo, SessionStatus } from "./types.js";

export interface ListOptions {
  status?: SessionStatus;
  agent?: string;
}

/** A client of one daemon. It holds no connection, and need not be closed. */
export class Client {
  readonly transport: Transport;

  constructor(options: ClientOptions = {}) {
    this.transport = new Transport(options);
  }

  /** Any route of the API, with the types of its OpenAPI document. Throws `ApiError` or `Unreachable`. */
  async call<P extends Path, M extends MethodOf<P>>(method: M, path: P, options: CallOptions<P, M>): Promise<Answer<P, M>> {
    const { path: names = {}, query, body, signal, idempotencyKey } = options as {
      path?: Record<string, string>;
      query?: object;
      body?: unknown;
      signal?: AbortSignal;
      idempotencyKey?: string;
    };
    const filled = (path as string).replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(names[name])));
    const response = await this.transport.request(method.toUpperCase(), filled, {
      body,
      ...(query ? { query } : {}),
      ...(signal ? { signal } : {}),
      ...(idempotencyKey ? { idempotencyKey } : {}),
    });
    const json = response.headers.get("content-type")?.startsWith("application/json");
    return (json ? await response.json() : undefined) as Answer<P, M>;
  }

  /** Start a session. Without an id of yours it gets one. */
  async create(request: CreateSession, id?: string): Promise<Session> {
    const made = id === undefined
      ? await this.call("post", "/v1/sessions", { body: request })
      : await this.call("post", "/v1/sessions/{session_id}", { path: { session_id: id }, body: request });
    return this.session(made.sessionId);
  }

  /** A session that exists. Nothing is asked until a method is called. */
  session(id: string): Session {
    return new Session(this, id);
  }

  /** All sessions, newest first, page by page. */
  async *sessions(options: ListOptions = {}): AsyncGenerator<SessionInfo, void, void> {
    for (let page: string | undefined; ; ) {
      const found = await this.call("get", "/v1/sessions", { query: { ...options, ...(page ? { page } : {}) } });
      yield* found.sessions;
      if (!found.nextPage) return;
      page = found.nextPage;
    }
  }

  async agents(): Promise<AgentInfo[]> {
    return (await this.call("get", "/v1/agents", {})).agents;
  }

  /** Asks of all sessions that wait for an answer. */
  async asks(): Promise<AskInfo[]> {
    return (await this.call("get", "/v1/asks", { query: { pending: true } })).asks;
  }

  /** Events of all sessions, from now on or after `lastId`. Never ends. */
  events(options: StreamOptions & { lastId?: string } = {}): AsyncGenerator<Event, void, void> {
    return stream(this.transport, FEED, options, options.lastId ?? null);
  }
}
