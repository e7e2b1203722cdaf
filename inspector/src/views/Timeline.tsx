/** A turn on a time axis: the model, tools, waiting for a human, retries. */
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Event, EventOf, Session } from "../api/types";
import { WITHOUT_DELTAS } from "../state/conversation";
import { lastEvents } from "../state/live";
import { route, sessionHref } from "../state/route";
import { shares, type SpanKind, ticks, type Turn, turnOf } from "../transcript/spans";
import { clock, duration } from "../text/format";
import { REASONS } from "./entries/TurnRow";

interface Listed {
  start: EventOf<"turn.started">;
  end: EventOf<"turn.ended"> | null;
}

const TURNS = 200;
const MOST_EVENTS = 10_000;
const NAMES: Record<SpanKind, string> = { model: "Model", tool: "Tools", human: "Waiting for a human", program: "Your program", retry: "Retries" };

export function Timeline({ session }: { session: Session }) {
  const id = session.sessionId;
  const here = route.value;
  const at = here.view === "session" ? here.at : null;
  const [turns, setTurns] = useState<Listed[] | null>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  const moved = lastEvents.value.some((event) => event.session_id === id && event.type.startsWith("turn.")) ? session.eventCount : 0;
  useEffect(() => {
    void loadTurns(id).then((found) => {
      setTurns(found);
      const sought = at ? found.find((turn) => turn.start.sequence <= at && at <= (turn.end?.sequence ?? Infinity)) : null;
      setChosen((before) => sought?.start.data.turn_id ?? before ?? found[0]?.start.data.turn_id ?? null);
    });
  }, [id, at, moved]);
  if (!turns) return <div class="empty" aria-busy="true" />;
  const turn = turns.find((each) => each.start.data.turn_id === chosen);
  if (!turn) {
    return (
      <div class="empty">
        <h2>No turn yet</h2>
        <p>A turn begins with a message to the agent.</p>
      </div>
    );
  }
  return (
    <div class="timeline scroller" tabIndex={0}>
      <label class="turn-choice">
        Turn
        <select value={chosen ?? ""} onChange={(event) => setChosen(event.currentTarget.value)}>
          {turns.map((each) => (
            <option key={each.start.data.turn_id} value={each.start.data.turn_id}>
              {clock(each.start.time)} · #{each.start.sequence} · {each.end ? `${duration(Date.parse(each.end.time) - Date.parse(each.start.time))}, ${(REASONS[each.end.data.stop_reason] ?? each.end.data.stop_reason).toLowerCase()}` : "running"}
            </option>
          ))}
        </select>
      </label>
      <Picture key={chosen} session={id} turn={turn} live={turn.end ? 0 : session.eventCount} />
    </div>
  );
}

function Picture({ session, turn, live }: { session: string; turn: Listed; live: number }) {
  const [made, setMade] = useState<Turn | null>(null);
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    void loadTurn(session, turn).then((events) => setMade(turnOf(events)));
  }, [session, turn.start.sequence, turn.end?.sequence, live]);
  useEffect(() => {
    if (turn.end) return;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [turn.end]);
  if (!made) return null;
  const until = Math.max(made.end ?? now, made.start + 1, ...made.spans.map((span) => span.end ?? 0));
  const length = until - made.start;
  const percent = (time: number) => `${((time - made.start) / length) * 100}%`;
  const sums = shares(made, now);
  return (
    <>
      <dl class="shares">
        {(Object.keys(NAMES) as SpanKind[]).map(
          (kind) =>
            sums[kind] > 0 && (
              <div key={kind} class={kind}>
                <dt>{NAMES[kind]}</dt>
                <dd>{duration(sums[kind])}</dd>
              </div>
            ),
        )}
      </dl>
      <div class="axis" aria-hidden="true">
        {ticks(length).map((tick) => (
          <span key={tick} style={{ left: `${(tick / length) * 100}%` }}>
            {duration(tick)}
          </span>
        ))}
      </div>
      <ol class="lanes" aria-label="What happened in this turn">
        {made.spans.map((span) => {
          const took = duration((span.end ?? now) - span.start);
          return (
            <li key={`${span.sequence}`} class={`${span.kind} ${span.failed ? "failed" : ""}`}>
              <a href={sessionHref(session, "conversation", span.sequence)} title={`${NAMES[span.kind]}, after ${duration(span.start - made.start)}`}>
                <span class="label">
                  <span class="hidden">{NAMES[span.kind]}: </span>
                  {span.label}
                </span>
                <span class="track">
                  <span class="bar" style={{ left: percent(span.start), width: `max(2px, ${(((span.end ?? until) - span.start) / length) * 100}%)` }} />
                </span>
                <span class="took">{took}</span>
              </a>
            </li>
          );
        })}
      </ol>
    </>
  );
}

async function loadTurns(id: string): Promise<Listed[]> {
  const path = `v1/sessions/${encodeURIComponent(id)}/events`;
  const page = await get<{ events: Event[] }>(path, { types: ["turn.started", "turn.ended"], order: "desc", limit: TURNS });
  const turns: Listed[] = [];
  let end: Listed["end"] = null;
  for (const event of page.events) {
    if (event.type === "turn.ended") end = event;
    else if (event.type === "turn.started") {
      turns.push({ start: event, end: end?.data.turn_id === event.data.turn_id ? end : null });
      end = null;
    }
  }
  return turns;
}

async function loadTurn(id: string, turn: Listed): Promise<Event[]> {
  const path = `v1/sessions/${encodeURIComponent(id)}/events`;
  const query = { offset: turn.start.sequence - 1, types: WITHOUT_DELTAS, limit: MOST_EVENTS };
  const page = await get<{ events: Event[] }>(path, query);
  const last = turn.end?.sequence ?? Infinity;
  return page.events.filter((event) => event.sequence <= last);
}
