/** Small news of the session: begun, changed, ended; and frames that nobody knows. */
import type { NoteEntry } from "../../transcript/entry";
import { sessionHref } from "../../state/route";
import { titled, wordsOf } from "../../text/format";
import { StderrView } from "./ErrorRow";

export function NoteRow({ event }: { event: NoteEntry["event"] }) {
  switch (event.type) {
    case "session.started":
      return <p class="aside">Session started</p>;
    case "session.updated": {
      const news = Object.entries(event.data).filter(([field]) => field !== "status" && field !== "metadata");
      return (
        <p class="aside">
          {news.map(([field, value]) => (
            <span key={field}>
              {titled(field.replaceAll("_", " "))} is now <strong>{wordsOf(value) || "the default"}</strong>
            </span>
          ))}
        </p>
      );
    }
    case "session.ended":
      return (
        <section class="session-end">
          <p class="aside">
            <strong>Session {event.data.reason === "completed" ? "ended" : event.data.reason}</strong>
            {event.data.exit_code != null && <span>exit code {event.data.exit_code}</span>}
            {event.data.message && <span>{event.data.message}</span>}
          </p>
          {event.data.stderr && <StderrView stderr={event.data.stderr} />}
        </section>
      );
    case "agent.unparsed":
      return (
        <p class="aside">
          <span>A frame that nobody knows: {event.data.error}</span>
          <a href={sessionHref(event.session_id, "events", event.sequence)}>Look at it</a>
        </p>
      );
  }
}
