/** Client of everyagent: every coding agent behind one API, with one durable event log. */
export { Client, type ListOptions } from "./client.js";
export { ApiError, Unreachable } from "./errors.js";
export type { components, paths } from "./schema.js";
export { Session, type AskAnswer, type EventOptions, type MessageOptions, type RunOptions } from "./session.js";
export type { StreamOptions } from "./stream.js";
export type { ClientOptions } from "./transport.js";
export { isAsk, SessionEnded, SpokenText, textOf, type AskEvent, type Turn } from "./turn.js";
export type * from "./types.js";
