/** Where the page is, in the address's fragment: back, forward and links work. */
import { computed, signal } from "@preact/signals";

export type Tab = "conversation" | "events" | "timeline" | "changes";
export type Place = "home" | "inbox" | "agents" | "usage" | "keys" | "webhooks" | "audit";
export type Route =
  | { view: Place }
  | { view: "session"; id: string; tab: Tab; at: number | null }
  | { view: "compare"; ids: [string, string] };

const PLACES: readonly string[] = ["inbox", "agents", "usage", "keys", "webhooks", "audit"];
const TABS: readonly string[] = ["conversation", "events", "timeline", "changes"];

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [view, id, tab] = path.split("/").map(decodeURIComponent);
  if (view === "session" && id) {
    const at = Number(new URLSearchParams(query).get("at"));
    const known = (TABS.includes(tab ?? "") ? tab : "conversation") as Tab;
    return { view: "session", id, tab: known, at: Number.isSafeInteger(at) && at > 0 ? at : null };
  }
  if (view === "compare" && id && tab) return { view: "compare", ids: [id, tab] };
  return { view: PLACES.includes(view ?? "") ? (view as Place) : "home" };
}

export function href(route: Route): string {
  if (route.view === "compare") return `#/compare/${route.ids.map(encodeURIComponent).join("/")}`;
  if (route.view !== "session") return route.view === "home" ? "#/" : `#/${route.view}`;
  const tab = route.tab === "conversation" ? "" : `/${route.tab}`;
  return `#/session/${encodeURIComponent(route.id)}${tab}${route.at ? `?at=${route.at}` : ""}`;
}

export function sessionHref(id: string, tab: Tab = "conversation", at: number | null = null): string {
  return href({ view: "session", id, tab, at });
}

export const route = signal<Route>({ view: "home" });
export const openId = computed(() => (route.value.view === "session" ? route.value.id : null));

export function go(to: Route): void {
  location.hash = href(to);
}

export function followAddress(): void {
  const read = () => void (route.value = parseRoute(location.hash));
  addEventListener("hashchange", read);
  read();
}
