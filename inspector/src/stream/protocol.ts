/** What pages and the shared worker say to each other. */
import type { Event } from "../api/types";
import type { Connection } from "./feed";

export type ToWorker =
  | { type: "hello"; url: string; token: string | null }
  | { type: "watch"; session: string | null }
  | { type: "retry" }
  | { type: "bye" };

export type FromWorker = { type: "connection"; now: Connection; resumed: boolean } | { type: "events"; batch: Event[] };
