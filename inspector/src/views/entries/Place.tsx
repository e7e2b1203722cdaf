/** When it was, and the way to its events. */
import { sessionHref } from "../../state/route";
import { clock } from "../../text/format";

export function Place({ session, sequence, time }: { session: string; sequence: number; time: string }) {
  return (
    <a class="place" href={sessionHref(session, "events", sequence)} title={`Event ${sequence}, ${time}`}>
      <span class="number">#{sequence}</span> {clock(time)}
    </a>
  );
}
