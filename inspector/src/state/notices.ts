/** Short messages at the edge of the page, and the browser's own notifications when somebody waits. */
import { signal } from "@preact/signals";
import type { Ask } from "../api/types";
import { sessionHref } from "./route";

export interface Notice {
  id: number;
  text: string;
  kind: "info" | "error";
}

export const notices = signal<Notice[]>([]);
let last = 0;

export function notify(text: string, kind: Notice["kind"] = "info"): void {
  const id = ++last;
  notices.value = [...notices.value.slice(-3), { id, text, kind }];
  setTimeout(() => dismiss(id), kind === "error" ? 10_000 : 4000);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

/** Runs it; a failure is shown. */
export async function attempt<T>(work: () => Promise<T>, done?: string): Promise<T | undefined> {
  try {
    const result = await work();
    if (done) notify(done);
    return result;
  } catch (error) {
    notify(error instanceof Error ? error.message : String(error), "error");
    return undefined;
  }
}

export const canNotify = signal<NotificationPermission>(globalThis.Notification?.permission ?? "denied");

export async function wantNotifications(): Promise<void> {
  canNotify.value = await Notification.requestPermission();
}

/** Only when nobody looks at the page; one for all tabs. */
export function announce(asks: Ask[]): void {
  if (canNotify.value !== "granted" || !document.hidden) return;
  for (const ask of asks) {
    const request = ask.request as { action?: string; prompt?: string; name?: string };
    const notification = new Notification("An agent waits for you", {
      body: String(request.action ?? request.prompt ?? request.name ?? ask.kind).slice(0, 200),
      tag: ask.askId,
    });
    notification.onclick = () => {
      window.focus();
      location.hash = sessionHref(ask.sessionId, "conversation", ask.sequence);
    };
  }
}
