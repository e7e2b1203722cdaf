/** The keyboard. Keys act on what is on the page: the open session, and the ask that has the focus or comes first. */
import { cancelTurn, sorted } from "../state/sessions";
import { attempt } from "../state/notices";
import { go, openId, route, type Tab } from "../state/route";
import { overlay } from "../state/shown";
import { nextTheme } from "../state/theme";

export const KEYS: [keys: string, what: string][] = [
  ["?", "These keys"],
  ["n", "New session"],
  ["/", "Search all sessions"],
  ["j  k", "Next, previous session"],
  ["g i", "Inbox"],
  ["g a", "Agents"],
  ["1  2  3", "Conversation, events, timeline"],
  ["c", "Write a message"],
  ["Enter", "Send; queue it while the agent works"],
  ["Ctrl Enter", "Steer: send into the running turn"],
  ["Ctrl .", "Stop the running turn"],
  ["y", "Allow once"],
  ["Shift Y", "Allow always"],
  ["x", "Reject, with a reason"],
  ["1 – 9", "Choose an option, while a question waits"],
  ["End", "To the newest"],
  ["t", "Light, dark or the system's choice"],
];

const TABS: Record<string, Tab> = { 1: "conversation", 2: "events", 3: "timeline" };
let pendingG = false;

export function listenToKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || event.metaKey) return;
    if (event.ctrlKey) {
      if (event.key === "." && openId.value) void attempt(() => cancelTurn(openId.value as string));
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
    if (key === "i" || key === "a") return act(() => go({ view: key === "i" ? "inbox" : "agents" }));
  }
  const here = route.value;
  if (/^[1-9]$/.test(key) && chooseOption(Number(key) - 1)) return true;
  if (here.view === "session" && TABS[key]) return act(() => go({ ...here, tab: TABS[key] as Tab, at: null }));
  switch (key) {
    case "?":
      return act(() => (overlay.value = "help"));
    case "n":
      return act(() => (overlay.value = "new"));
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
    case "End":
      return click("[data-newest]");
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
  const option = currentAsk()?.querySelectorAll<HTMLInputElement>("[data-option]")[index];
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
