/** The conversation: a virtual list that stays at its end while things happen, and where it is when they do not. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Session } from "../api/types";
import type { Conversation } from "../state/conversation";
import { may } from "../state/identity";
import { notify } from "../state/notices";
import { Icon } from "../parts/Icon";
import { useVirtual } from "../parts/virtual";
import { EntryRow } from "./entries/EntryRow";
import { Composer } from "./Composer";

const NEAR_END = 48;
const NEAR_EDGE = 1200;
const ESTIMATE = 90;
/** A wheel, a finger or a key moves the list for so long. */
const TOUCH_MS = 1000;

export function ConversationView({ session, conversation, at }: { session: Session; conversation: Conversation; at: number | null }) {
  conversation.revision.value;
  const scroller = useRef<HTMLDivElement>(null);
  const stuck = useRef(at === null);
  const measured = useRef("");
  const touched = useRef(-Infinity);
  const anchor = useRef<{ key: string; offset: number } | null>(null);
  const sought = useRef<string | null>(null);
  const [target, setTarget] = useState<string | null>(null);
  const firstKey = useRef<string | undefined>(undefined);
  const [away, setAway] = useState(false);
  const transcript = conversation.transcript;
  const keys = transcript.top();
  const virtual = useVirtual({
    count: keys.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ESTIMATE,
    getItemKey: (index) => keys[index] ?? index,
    overscan: 4,
    paddingStart: 16,
    paddingEnd: 16,
  });
  const items = virtual.getVirtualItems();
  const total = virtual.getTotalSize();

  const ready = conversation.state.value === "ready";
  useEffect(() => {
    setTarget(null);
    if (at === null || !ready) return;
    stuck.current = false;
    let mine = true;
    const seek = async () => {
      if (!conversation.covers(at)) await conversation.open(at);
      const key = await conversation.entryAt(at);
      if (mine) setTarget((sought.current = key));
    };
    seek().catch((error: Error) => notify(error.message, "error"));
    return () => void (mine = false);
  }, [at, ready]);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element || !ready) return;
    if (sought.current !== null) {
      const index = keys.indexOf(sought.current);
      if (index >= 0) virtual.scrollToIndex(index, { align: "center" });
      requestAnimationFrame(() => (sought.current = null));
      return;
    }
    if (stuck.current && conversation.atEnd.value) element.scrollTop = element.scrollHeight;
    else if (anchor.current && keys[0] !== firstKey.current) {
      const index = keys.indexOf(anchor.current.key);
      const start = virtual.measurementsCache[index]?.start;
      if (start !== undefined) element.scrollTop = start + anchor.current.offset;
    }
    firstKey.current = keys[0];
  });

  const below = (element: HTMLElement) => element.scrollHeight - element.scrollTop - element.clientHeight;
  const loadWhatIsNear = (element: HTMLElement) => {
    if (element.scrollTop < NEAR_EDGE) void conversation.older();
    else if (below(element) < NEAR_EDGE) void conversation.newer();
  };
  const onScroll = () => {
    const element = scroller.current;
    if (!element) return;
    // The list also moves when something in it is measured: only a person leaves its end.
    const sizes = `${element.scrollHeight} ${element.clientHeight}`;
    const moved = sizes === measured.current || performance.now() - touched.current < TOUCH_MS;
    measured.current = sizes;
    stuck.current = conversation.atEnd.value && (below(element) < NEAR_END || (stuck.current && !moved));
    setAway(!stuck.current);
    const first = items.find((item) => item.end > element.scrollTop);
    anchor.current = first ? { key: String(first.key), offset: element.scrollTop - first.start } : null;
    if (conversation.full && first) {
      const sequence = transcript.entries.get(String(first.key))?.sequence ?? null;
      if (!stuck.current) sought.current = String(first.key);
      void conversation.open(stuck.current ? null : sequence);
    } else loadWhatIsNear(element);
  };

  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const observer = new ResizeObserver(() => {
      if (stuck.current && conversation.atEnd.value) element.scrollTop = element.scrollHeight;
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [conversation]);

  // Who is at an edge cannot scroll further: when a load ends, whatever it brought, the next one is wanted at once.
  useEffect(() => {
    if (ready && keys.length && scroller.current && !conversation.problem.value) loadWhatIsNear(scroller.current);
  }, [ready, keys.length, conversation.loads.value]);

  const toBeginning = async () => {
    stuck.current = false;
    setAway(true);
    if (!conversation.atStart.value) await conversation.open(1);
    scroller.current?.scrollTo({ top: 0 });
  };

  const toNewest = () => {
    stuck.current = true;
    setAway(false);
    if (!conversation.atEnd.value) void conversation.open(null);
    else if (scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
  };

  useEffect(() => {
    const element = scroller.current;
    const onEdge = (event: Event) => {
      event.preventDefault();
      void ((event as CustomEvent<string>).detail === "Home" ? toBeginning() : toNewest());
    };
    element?.addEventListener("edge", onEdge);
    return () => element?.removeEventListener("edge", onEdge);
  });

  const touch = () => void (touched.current = performance.now());
  return (
    <>
      <div class="scroller conversation" ref={scroller} onScroll={onScroll} onWheel={touch} onTouchMove={touch} onPointerDown={touch} onKeyDown={touch} tabIndex={0} role="log" aria-live="off" aria-label="Conversation">
        {conversation.problem.value && <p class="problem">{conversation.problem.value}</p>}
        <div class="canvas" style={{ height: `${total}px` }}>
          <div class="flow" style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}>
            {items.map((item) => {
              const entry = transcript.entries.get(String(item.key));
              return (
                entry && (
                  <div key={item.key} data-index={item.index} ref={virtual.measureElement} class="entry-place">
                    <EntryRow entry={entry} transcript={transcript} session={session} highlighted={entry.key === target} />
                  </div>
                )
              );
            })}
          </div>
        </div>
        {ready && keys.length <= 1 && !conversation.queue.value.length && <Hint session={session} />}
      </div>
      <div class="dock">
        {away && (
          <button type="button" class="button small newest" data-newest onClick={toNewest}>
            <Icon name="down" /> {session.pendingAsks > 0 ? "An answer is wanted below" : "To the newest"}
          </button>
        )}
        <Composer session={session} conversation={conversation} onSent={toNewest} />
      </div>
    </>
  );
}

function Hint({ session }: { session: Session }) {
  return (
    <div class="empty">
      <h2>Nothing was said yet</h2>
      <p>
        {may("run") && "Write a message below."}
        {may("run") && session.agent === "mock" && (
          <>
            {" "}
            The mock does what directives say: <code>[help]</code> lists them.
          </>
        )}
      </p>
    </div>
  );
}
