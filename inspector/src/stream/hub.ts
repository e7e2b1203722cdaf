/** The page's end of the stream: shared between tabs where the browser can, else a stream of its own. */
import workerUrl from "./shared?sharedworker&url";
import { address } from "../api/client";
import { token } from "../api/token";
import { Feed, type FeedListener } from "./feed";
import type { FromWorker, ToWorker } from "./protocol";
import { scriptUrl } from "../text/trusted";

export interface Hub {
  /** Deltas come only of this session. */
  watch(session: string | null): void;
  retryNow(): void;
}

export function connect(listener: FeedListener): Hub {
  const url = new URL(address("v1/events/sse"), location.href).href;
  return typeof SharedWorker === "undefined" ? alone(url, listener) : shared(url, listener);
}

function shared(url: string, listener: FeedListener): Hub {
  const worker = new SharedWorker(scriptUrl(workerUrl), { type: "module", name: "everyagent" });
  const send = (message: ToWorker) => worker.port.postMessage(message);
  worker.port.onmessage = ({ data }: MessageEvent<FromWorker>) => {
    if (data.type === "events") listener.events(data.batch);
    else listener.connection(data.now, data.resumed);
  };
  addEventListener("pagehide", () => send({ type: "bye" }));
  addEventListener("pageshow", (event) => event.persisted && location.reload());
  send({ type: "hello", url, token: token() });
  return { watch: (session) => send({ type: "watch", session }), retryNow: () => send({ type: "retry" }) };
}

function alone(url: string, listener: FeedListener): Hub {
  let watched: string | null = null;
  const feed = new Feed(url, token(), {
    connection: (now, resumed) => listener.connection(now, resumed),
    events: (batch) => listener.events(batch.filter((e) => e.type !== "item.delta" || e.session_id === watched)),
  });
  void feed.run();
  return { watch: (session) => void (watched = session), retryNow: () => feed.retryNow() };
}
