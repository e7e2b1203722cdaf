/** The owner's token or an API key: taken from the link's fragment, kept for all tabs of this origin, sent as a header only. */
const KEY = "everyagent.token";

/** Takes `#token=…` out of the address bar and of history, before anything else reads the address. */
export function takeTokenFromAddress(location: Location, history: History, storage: Storage): void {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const token = fragment.get("token");
  if (token === null) return;
  storage.setItem(KEY, token);
  fragment.delete("token");
  const rest = fragment.get("to") ?? "";
  history.replaceState(null, "", location.pathname + location.search + (rest ? `#${rest}` : ""));
}

export function token(): string | null {
  return localStorage.getItem(KEY);
}

export function keepToken(value: string): void {
  localStorage.setItem(KEY, value);
}

export function dropToken(): void {
  localStorage.removeItem(KEY);
}

/** Calls it when another tab signs in or out. */
export function onTokenChange(changed: () => void): void {
  addEventListener("storage", (event) => (event.key === KEY || event.key === null) && changed());
}
