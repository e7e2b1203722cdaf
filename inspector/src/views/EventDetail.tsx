/** One event beside the native frame it was made from. */
import { useEffect, useState } from "preact/hooks";
import { address, get } from "../api/client";
import type { Event } from "../api/types";
import { href, sessionHref } from "../state/route";
import { CopyButton } from "../parts/CopyButton";
import { Icon } from "../parts/Icon";
import { Json } from "../parts/Json";

export function EventDetail({ session, sequence }: { session: string; sequence: number }) {
  const [event, setEvent] = useState<Event | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const path = `v1/sessions/${encodeURIComponent(session)}/events`;
  const query = { offset: sequence - 1, limit: 1, include_raw: true };
  useEffect(() => {
    const abort = new AbortController();
    get<{ events: Event[] }>(path, query, abort.signal).then(
      (page) => (page.events[0] ? setEvent(page.events[0]) : setProblem("There is no such event.")),
      (error: Error) => !abort.signal.aborted && setProblem(error.message),
    );
    return () => abort.abort();
  }, [session, sequence]);
  const { raw, ...universal } = event ?? { raw: null };
  return (
    <section class="event-detail" aria-label={`Event ${sequence}`}>
      <header>
        <strong>#{sequence}</strong>
        <span class="type">{event?.type}</span>
        <span class="spring" />
        <a class="button small" href={sessionHref(session, "conversation", sequence)}>
          <Icon name="link" /> In conversation
        </a>
        <CopyButton label="Copy as JSON" text={() => JSON.stringify(event, null, 2)}>
          JSON
        </CopyButton>
        <CopyButton label="Copy as curl" text={() => curl(address(path, query))}>
          curl
        </CopyButton>
        <a class="icon-button" aria-label="Close" href={href({ view: "session", id: session, tab: "events", at: null })}>
          <Icon name="close" />
        </a>
      </header>
      {problem && <p class="problem">{problem}</p>}
      {event && (
        <div class="sides">
          <div>
            <h3>Universal event</h3>
            <Json value={universal} label="Universal event" />
          </div>
          <div>
            <h3>{event.source === "agent" ? "Native frame" : "What caused it"}</h3>
            <Json value={raw} label="Native frame" />
          </div>
        </div>
      )}
    </section>
  );
}

/** Without the token in it: whoever pastes it has a shell that can ask for it. */
function curl(path: string): string {
  return `curl -H "Authorization: Bearer $(everyagent token)" '${location.origin}${path}'`;
}
