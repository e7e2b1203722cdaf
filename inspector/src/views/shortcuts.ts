/** The keyboard. Keys act on what is on the page: the open session, and the ask that has the focus or comes first. */
import { sorted, stopTurn } from "../state/sessions";
import type { Scope } from "../api/types";
import { may } from "../state/identity";
import { attempt } from "../state/notices";
import { go, openId, type Place, route, type Tab } from "../state/route";
import { overlay } from "../state/shown";
import { nextTheme } from "../state/theme";

export const KEYS: [keys: string, what: string, needs?: Scope][] = [
  ["?", "These keys"],
  ["n", "New session", "run"],
  ["/", "Search all sessions"],
  ["j  k", "Next, previous session"],
  ["g i", "Inbox"],
  ["g a", "Agents"],
  ["g s", "Usage"],
  ["g k", "Keys", "admin"],
  ["g w", "Webhooks", "admin"],
  ["g u", "Audit", "admin"],
  ["1  2  3  4", "Conversation, events, timeline, changes"],
  ["c", "Write a message", "run"],
  ["Enter", "Send; queue it while the agent works", "run"],
  ["Ctrl Enter", "Steer: send into the running turn", "run"],
  ["Ctrl .", "Stop the running turn", "run"],
  ["y", "Allow once", "answer"],
  ["Shift Y", "Allow always", "answer"],
  ["x", "Reject, with a reason", "answer"],
  ["1 – 9", "Choose an option, while a question waits", "answer"],
  ["Home  End", "To the beginning, to the newest"],
  ["t", "Light, dark or the system's choice"],
];

const PLACES: Record<string, Place> = { i: "inbox", a: "agents", s: "usage", k: "keys", w: "webhooks", u: "audit" };
const TABS: Record<string, Tab> = { 1: "conversation", 2: "events", 3: "timeline", 4: "changes" };
let pendingG = false;

export function listenToKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || event.metaKey) return;
    if (event.ctrlKey) {
      if (event.key === "." && openId.value && may("run")) void attempt(() => stopTurn(openId.value as string));
      return;
    }
    if (isTyping(event.target) || overlay.value) return;
    if (press(event.key)) event.preventDefault();
  });
}

function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element?.closest?.('input:not([type="radio"]):not([type="checkbox"]), textarea, select, dialog');
}

function press(key: string): boolean {
  if (pendingG) {
    pendingG = false;
    const view = PLACES[key];
    if (view) return act(() => go({ view }));
  }
  const here = route.value;
  if (/^[1-9]$/.test(key) && chooseOption(Number(key) - 1)) return true;
  if (here.view === "session" && TABS[key]) return act(() => go({ ...here, tab: TABS[key] as Tab, at: null }));
  switch (key) {
    case "?":
      return act(() => (overlay.value = "help"));
    case "n":
      return may("run") && act(() => (overlay.value = "new"));
    case "g":
      return act(() => (pendingG = true));
    case "t":
      return act(nextTheme);
    case "/":
      return focus("#search");
    case "c":
      return focus("#composer");
    case "j":
    case "k":
      return act(() => step(key === "j" ? 1 : -1));
    case "y":
    case "Y":
      return click(key === "y" ? '[data-reply="once"]' : '[data-reply="always"]');
    case "x":
      return click('[data-reply="reject"]');
    case "Home":
    case "End":
      return toEdge(key);
    default:
      return false;
  }
}

function act(what: () => unknown): true {
  what();
  return true;
}

function focus(selector: string): boolean {
  const found = document.querySelector<HTMLElement>(selector);
  found?.focus();
  return !!found;
}

/** Scrolls what is shown to its beginning or its end. A conversation may have to load it, and does so itself. */
function toEdge(key: "Home" | "End"): boolean {
  const shown = document.querySelector<HTMLElement>("main .scroller");
  const loads = shown && !shown.dispatchEvent(new CustomEvent("edge", { detail: key, cancelable: true }));
  if (!loads) shown?.scrollTo({ top: key === "Home" ? 0 : shown.scrollHeight });
  return !!shown;
}

function currentAsk(): Element | null {
  return document.activeElement?.closest("[data-ask]") ?? document.querySelector("[data-ask]");
}

function click(selector: string): boolean {
  const within = selector.startsWith("[data-reply") ? currentAsk() : document;
  const found = within?.querySelector<HTMLElement>(selector);
  found?.click();
  return !!found;
}

function chooseOption(index: number): boolean {
  const option = currentAsk()?.querySelectorAll<HTMLInputElement>("[data-option]:enabled")[index];
  option?.click();
  option?.focus();
  return !!option;
}

function step(by: number): void {
  const list = sorted();
  const at = list.findIndex((session) => session.sessionId === openId.value);
  const next = list[at < 0 ? 0 : Math.min(list.length - 1, Math.max(0, at + by))];
  if (next) go({ view: "session", id: next.sessionId, tab: "conversation", at: null });
}
