/** The shared worker: one stream for all tabs. A tab gets deltas only of the session it looks at. */
import { type Connection, Feed } from "./feed";
import type { FromWorker, ToWorker } from "./protocol";
import type { Event } from "../api/types";

interface Tab {
  port: MessagePort;
  watched: string | null;
}

const tabs = new Set<Tab>();
let feed: Feed | null = null;
let opened = "";
let connection: Connection = { state: "connecting" };

function tell(tab: Tab, message: FromWorker): void {
  tab.port.postMessage(message);
}

function open(url: string, token: string | null): void {
  feed?.stop();
  opened = `${url} ${token}`;
  const mine = new Feed(url, token, {
    connection(now, resumed) {
      if (feed !== mine) return;
      connection = now;
      for (const tab of tabs) tell(tab, { type: "connection", now, resumed });
    },
    events(batch) {
      if (feed !== mine) return;
      for (const tab of tabs) {
        const wanted = batch.filter((event) => isFor(tab, event));
        if (wanted.length) tell(tab, { type: "events", batch: wanted });
      }
    },
  });
  feed = mine;
  void mine.run();
}

function isFor(tab: Tab, event: Event): boolean {
  return event.type !== "item.delta" || event.session_id === tab.watched;
}

function hear(tab: Tab, message: ToWorker): void {
  switch (message.type) {
    case "hello":
      if (opened !== `${message.url} ${message.token}` || connection.state === "refused") open(message.url, message.token);
      else tell(tab, { type: "connection", now: connection, resumed: true });
      return;
    case "watch":
      tab.watched = message.session;
      return;
    case "retry":
      feed?.retryNow();
      return;
    case "bye":
      tabs.delete(tab);
      tab.port.close();
  }
}

(globalThis as unknown as { onconnect: (event: MessageEvent) => void }).onconnect = (event) => {
  const port = event.ports[0];
  if (!port) return;
  const tab: Tab = { port, watched: null };
  tabs.add(tab);
  port.onmessage = (message: MessageEvent<ToWorker>) => hear(tab, message.data);
};
