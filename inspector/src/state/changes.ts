/** What a session changed in files, and what it said last: read from its log. */
import { get } from "../api/client";
import type { Event, EventOf, UsageReport, UsageSum } from "../api/types";

export interface Change {
  sequence: number;
  time: string;
  diff: string;
}

export interface ChangedFile {
  path: string;
  /** Oldest first. */
  changes: Change[];
}

export interface Work {
  files: ChangedFile[];
  /** The agent's last message. */
  answer: string | null;
}

const PAGE = 1000;

/** Every edit with its diff, by file, in the order in which files were first changed. */
export async function workOf(session: string): Promise<Work> {
  const files = new Map<string, ChangedFile>();
  let answer: string | null = null;
  let [offset, more] = [0, true];
  while (more) {
    const page = await get<{ events: Event[]; hasMore: boolean }>(`v1/sessions/${encodeURIComponent(session)}/events`, { types: "item.completed", offset, limit: PAGE });
    for (const event of page.events as EventOf<"item.completed">[]) {
      const item = event.data.item;
      for (const part of item.content) {
        if (part.type !== "file_ref" || part.action === "read" || !part.diff) continue;
        const file = files.get(part.path) ?? { path: part.path, changes: [] };
        file.changes.push({ sequence: event.sequence, time: event.time, diff: part.diff });
        files.set(part.path, file);
      }
      const text = item.content.map((part) => (part.type === "text" ? part.text : "")).join("");
      if (item.kind === "message" && item.role === "assistant" && !item.subagent && text) answer = text;
    }
    offset = page.events.at(-1)?.sequence ?? offset;
    more = page.hasMore && page.events.length > 0;
  }
  return { files: [...files.values()], answer };
}

export async function sumOf(session: string): Promise<UsageSum> {
  return (await get<UsageReport>("v1/usage", { sessionId: session })).total;
}
