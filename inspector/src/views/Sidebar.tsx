/** The sessions, with search and filters; and the way to inbox and agents. */
import { useEffect, useRef, useState } from "preact/hooks";
import { token } from "../api/token";
import type { Hit, Session, Status } from "../api/types";
import { agents } from "../state/agents";
import { pendingAsks } from "../state/asks";
import { identity, may, signOut } from "../state/identity";
import { now } from "../state/live";
import { attempt } from "../state/notices";
import { filter, hits, loaded, loadSessions, nextPage, search, sessions, sorted } from "../state/sessions";
import { overlay } from "../state/shown";
import { href, openId, route, sessionHref } from "../state/route";
import { nextTheme, theme } from "../state/theme";
import { marked } from "../text/marks";
import { ago, basename, money, shortId } from "../text/format";
import { Icon } from "../parts/Icon";
import { STATUS_WORDS, StatusDot } from "../parts/Status";
import { useVirtual } from "../parts/virtual";

const STATUSES: Status[] = ["running", "waiting", "idle", "hibernated", "ended"];
const ROW = 58;
const SEARCH_WAIT_MS = 200;
const HITS_SHOWN = 3;

export function Sidebar() {
  const waiting = pendingAsks.value.length;
  const view = route.value.view;
  return (
    <aside class="sidebar" aria-label="Sessions">
      <header>
        <a class="brand" href="#/">
          everyagent
        </a>
        <span class="spring" />
        <button type="button" class="icon-button" aria-label={`Theme: ${theme.value}`} title={`Theme: ${theme.value}`} onClick={nextTheme}>
          <Icon name="sun" />
        </button>
        <button type="button" class="icon-button" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick={() => (overlay.value = "help")}>
          <Icon name="help" />
        </button>
      </header>
      <nav class="places" aria-label="Places">
        <a href={href({ view: "inbox" })} aria-current={view === "inbox" ? "page" : undefined}>
          <Icon name="inbox" /> Inbox
          {waiting > 0 && (
            <span class="badge" data-testid="inbox-badge">
              {waiting}
              <span class="hidden"> waiting</span>
            </span>
          )}
        </a>
        <a href={href({ view: "agents" })} aria-current={view === "agents" ? "page" : undefined}>
          <Icon name="agents" /> Agents
        </a>
        <a href={href({ view: "usage" })} aria-current={view === "usage" ? "page" : undefined}>
          <Icon name="chart" /> Usage
        </a>
        {may("admin") && (
          <>
            <a href={href({ view: "keys" })} aria-current={view === "keys" ? "page" : undefined}>
              <Icon name="key" /> Keys
            </a>
            <a href={href({ view: "webhooks" })} aria-current={view === "webhooks" ? "page" : undefined}>
              <Icon name="bolt" /> Webhooks
            </a>
            <a href={href({ view: "audit" })} aria-current={view === "audit" ? "page" : undefined}>
              <Icon name="list" /> Audit
            </a>
          </>
        )}
      </nav>
      <Filters />
      <SessionList />
      <footer>
        {may("run") && (
          <button type="button" class="button primary wide" onClick={() => (overlay.value = "new")}>
            <Icon name="plus" /> New session
          </button>
        )}
        <WhoAmI />
      </footer>
    </aside>
  );
}

function WhoAmI() {
  const me = identity.value;
  if (!me) return null;
  const scopes = me.scopes.includes("admin") ? "admin" : me.scopes.join(", ");
  const until = me.expiresAt ? ` · until ${new Date(me.expiresAt).toLocaleString()}` : "";
  return (
    <div class="whoami" role="group" aria-label="Signed in as">
      <span title={`${me.keyId}${until}`}>
        <strong>{me.name}</strong>
        <small>
          {me.workspace ?? "all workspaces"} · {scopes}
        </small>
      </span>
      {(token() !== null || me.signIn) && (
        <button type="button" class="icon-button" aria-label="Sign out" title="Sign out" onClick={() => attempt(signOut)}>
          <Icon name="exit" />
        </button>
      )}
    </div>
  );
}

function Filters() {
  const { text, status, agent } = filter.value;
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => search(text, abort.signal).catch(() => (hits.value = null)), SEARCH_WAIT_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  const choose = (change: Partial<typeof filter.value>) => {
    filter.value = { ...filter.value, ...change };
    void attempt(() => loadSessions());
  };
  return (
    <div class="filters" role="search">
      <div class="search">
        <Icon name="search" />
        <input
          id="search"
          type="search"
          placeholder="Search all sessions"
          aria-label="Search all sessions"
          value={text}
          onInput={(event) => (filter.value = { ...filter.value, text: event.currentTarget.value })}
        />
      </div>
      <select aria-label="Status" value={status} onChange={(event) => choose({ status: event.currentTarget.value as Status | "" })}>
        <option value="">Any status</option>
        {STATUSES.map((each) => (
          <option key={each} value={each}>
            {STATUS_WORDS[each]}
          </option>
        ))}
      </select>
      <select aria-label="Agent" value={agent} onChange={(event) => choose({ agent: event.currentTarget.value })}>
        <option value="">Any agent</option>
        {agents.value?.map((each) => (
          <option key={each.id} value={each.id}>
            {each.title}
          </option>
        ))}
      </select>
    </div>
  );
}

function SessionList() {
  const list = sorted();
  const found = hits.value ?? [];
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtual({
    count: list.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    getItemKey: (index) => list[index]?.sessionId ?? index,
    overscan: 6,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (nextPage.value && last >= list.length - 10) void attempt(() => loadSessions(true));
  }, [last, list.length, nextPage.value]);
  return (
    <div class="session-list" ref={scroller} tabIndex={-1}>
      {list.length > 0 && (
        <ul style={{ height: `${virtual.getTotalSize()}px` }} aria-label="Sessions">
          {items.map(({ index, start }) => {
            const session = list[index];
            return session && <Row key={session.sessionId} session={session} start={start} />;
          })}
        </ul>
      )}
      {loaded.value && !list.length && !found.length && (
        <p class="muted nothing">{filter.value.text || filter.value.status || filter.value.agent ? "Nothing fits the filter." : "No sessions yet."}</p>
      )}
      {found.length > 0 && (
        <section class="hits" aria-label="Said in conversations">
          <h2>In conversations</h2>
          {grouped(found).map(([id, group]) => (
            <SearchGroup key={id} id={id} group={group} />
          ))}
        </section>
      )}
    </div>
  );
}

export function titleOf(session: Session): string {
  return session.title || (session.directory ? `${basename(session.directory)} · ${shortId(session.sessionId)}` : session.sessionId);
}

function Row({ session, start }: { session: Session; start: number }) {
  return (
    <li style={{ transform: `translateY(${start}px)` }}>
      <a
        class="session-row"
        href={sessionHref(session.sessionId)}
        aria-current={openId.value === session.sessionId ? "page" : undefined}
        data-session={session.sessionId}
      >
        <StatusDot status={session.status} />
        <span class="title">{titleOf(session)}</span>
        <span class="when">{ago(session.updatedAt, now.value)}</span>
        <span class="facts">
          {session.agent}
          {session.model && ` · ${session.model}`}
        </span>
        <span class="cost">
          {session.pendingAsks > 0 && (
            <span class="badge" title="Waits for you">
              {session.pendingAsks}
            </span>
          )}
          {money(session.costUsd)}
        </span>
      </a>
    </li>
  );
}

/** By session, in the order of the best hit of each. */
function grouped(found: Hit[]): [string, Hit[]][] {
  const groups = new Map<string, Hit[]>();
  for (const hit of found) groups.set(hit.sessionId, [...(groups.get(hit.sessionId) ?? []), hit]);
  return [...groups];
}

function SearchGroup({ id, group }: { id: string; group: Hit[] }) {
  const [all, setAll] = useState(false);
  const first = group[0] as Hit;
  const session = sessions.value.get(id);
  const title = session ? titleOf(session) : first.title || id;
  const rest = group.length - HITS_SHOWN;
  return (
    <section class="hit-group" aria-label={title}>
      <h3 title={title}>
        {title} <small>{first.agent}</small>
      </h3>
      {(all ? group : group.slice(0, HITS_SHOWN)).map((hit) => (
        <a key={hit.sequence} class="hit" href={sessionHref(id, "conversation", hit.sequence)}>
          {marked(hit.snippet, filter.value.text).map(([text, found], index) => (found ? <mark key={index}>{text}</mark> : text))}
        </a>
      ))}
      {rest > 0 && !all && (
        <button type="button" class="hit more" onClick={() => setAll(true)}>
          {rest} more in this session
        </button>
      )}
    </section>
  );
}
