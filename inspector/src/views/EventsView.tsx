/** Every event of a session, and of the chosen one both sides: the universal event and the native frame. */
import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import type { Event, Session } from "../api/types";
import { EventPages } from "../state/eventpages";
import { go } from "../state/route";
import { clock } from "../text/format";
import { useVirtual } from "../parts/virtual";
import { EventDetail } from "./EventDetail";
import { summaryOf } from "./summary";

const ROW = 28;
const TYPES = [
  "session.started", "session.updated", "session.ended", "turn.started", "turn.ended", "model.responded", "item.started", "item.delta", "item.completed",
  "permission.requested", "permission.resolved", "question.requested", "question.resolved", "tool.requested", "tool.resolved",
  "error", "agent.unparsed",
];

export function EventsView({ session, at }: { session: Session; at: number | null }) {
  const id = session.sessionId;
  const [types, setTypes] = useState<string[]>([]);
  const [typed, setTyped] = useState("");
  const [text, setText] = useState("");
  const [, draw] = useReducer((n: number) => n + 1, 0);
  const pages = useRef<EventPages | null>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const shown = useRef<number | null>(null);
  const follow = useRef(at === null);

  const filter = `${id} ${types.join()} ${text}`;
  const made = useRef("");
  if (made.current !== filter) {
    made.current = filter;
    pages.current?.close();
    pages.current = new EventPages(id, { types, text }, () => draw(undefined));
  }
  const list = pages.current as EventPages;
  useEffect(() => () => pages.current?.close(), []);
  useEffect(() => {
    const timer = setTimeout(() => setText(typed.trim()), 250);
    return () => clearTimeout(timer);
  }, [typed]);
  useEffect(() => list.grow(session.eventCount), [list, session.eventCount]);

  const virtual = useVirtual({
    count: list.count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
  });
  const items = virtual.getVirtualItems();
  const [first, last] = [items[0]?.index ?? 0, items.at(-1)?.index ?? 0];
  useEffect(() => list.want(first, last), [list, first, last, list.count]);
  useEffect(() => {
    if (list.filtered || !list.count) return;
    if (at !== null && shown.current !== at) {
      shown.current = at;
      virtual.scrollToIndex(at - 1, { align: "center" });
    } else if (follow.current) virtual.scrollToIndex(list.count - 1, { align: "end" });
  }, [list, list.count, at]);

  const choose = (event: Event) => {
    follow.current = false;
    shown.current = event.sequence;
    go({ view: "session", id, tab: "events", at: event.sequence });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || at === null) return;
    event.preventDefault();
    const rows = Array.from({ length: list.count }, (_, index) => index);
    const here = list.filtered ? rows.findIndex((index) => list.at(index)?.sequence === at) : at - 1;
    const next = list.at(here + step);
    if (!next) return;
    virtual.scrollToIndex(here + step);
    choose(next);
  };
  const toggle = (type: string) => setTypes(types.includes(type) ? types.filter((each) => each !== type) : [...types, type]);

  return (
    <div class="events">
      <div class="event-filters">
        <input type="search" aria-label="Text in events" placeholder="Text in events" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        <details>
          <summary class="button small">{types.length ? `${types.length} types` : "All types"}</summary>
          <fieldset class="types">
            <legend class="hidden">Types of events</legend>
            {TYPES.map((type) => (
              <label key={type}>
                <input type="checkbox" checked={types.includes(type)} onChange={() => toggle(type)} /> {type}
              </label>
            ))}
            <button type="button" class="button small" disabled={!types.length} onClick={() => setTypes([])}>
              All types
            </button>
          </fieldset>
        </details>
        <span class="muted">
          {list.filtered ? `${list.count} found, newest first` : `${list.head.toLocaleString("en")} events`}
        </span>
        {list.problem && <span class="problem">{list.problem}</span>}
      </div>
      <div class="event-panes">
        <div class="event-table" role="table" aria-label="Events" aria-rowcount={list.count}>
          <div class="event-row head" role="row">
            {["#", "Time", "Type", "Source", "What"].map((name) => (
              <span role="columnheader" key={name}>
                {name}
              </span>
            ))}
          </div>
          <div
            class="scroller"
            ref={scroller}
            tabIndex={0}
            role="rowgroup"
            onKeyDown={onKeyDown}
            onScroll={(event) => {
              const element = event.currentTarget;
              follow.current = at === null && element.scrollHeight - element.scrollTop - element.clientHeight < ROW;
            }}
          >
            <div class="canvas" role="presentation" style={{ height: `${virtual.getTotalSize()}px` }}>
              {items.map(({ index, start }) => (
                <EventRow key={index} event={list.at(index)} start={start} chosen={at} onChoose={choose} />
              ))}
            </div>
          </div>
        </div>
        {at !== null && <EventDetail key={at} session={id} sequence={at} />}
      </div>
    </div>
  );
}

function EventRow({ event, start, chosen, onChoose }: { event: Event | undefined; start: number; chosen: number | null; onChoose: (event: Event) => void }) {
  const style = { transform: `translateY(${start}px)` };
  if (!event) return <div class="event-row loading" role="row" style={style} aria-busy="true" />;
  return (
    <div
      class={`event-row of-${event.type.split(".")[0]} ${chosen === event.sequence ? "chosen" : ""}`}
      role="row"
      aria-selected={chosen === event.sequence}
      style={style}
      onClick={() => onChoose(event)}
    >
      <span role="cell" class="number">
        <button type="button" onClick={() => onChoose(event)} aria-label={`Event ${event.sequence}`}>
          {event.sequence}
        </button>
      </span>
      <span role="cell">{clock(event.time, true)}</span>
      <span role="cell" class="type">
        {event.type}
      </span>
      <span role="cell">
        {event.source}
        {event.synthetic && (
          <abbr class="synthetic" title="Synthetic: made by the daemon">
            ◇<span class="hidden">synthetic</span>
          </abbr>
        )}
      </span>
      <span role="cell" class="summary">
        {summaryOf(event)}
      </span>
    </div>
  );
}
