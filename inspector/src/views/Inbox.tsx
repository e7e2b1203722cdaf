/** Everything that waits for a human, over all sessions. */
import type { Ask } from "../api/types";
import type { AskEntry } from "../transcript/entry";
import { pendingAsks } from "../state/asks";
import { now } from "../state/live";
import { canNotify, wantNotifications } from "../state/notices";
import { sessions } from "../state/sessions";
import { sessionHref } from "../state/route";
import { ago } from "../text/format";
import { Icon } from "../parts/Icon";
import { AskCard } from "./asks/AskCard";
import { titleOf } from "./Sidebar";

export function Inbox() {
  const waiting = pendingAsks.value;
  return (
    <div class="page">
      <header class="page-header">
        <a class="icon-button back" href="#/" aria-label="All sessions">
          <Icon name="back" />
        </a>
        <h1>Inbox</h1>
        <span class="muted">{waiting.length ? `${waiting.length} waiting` : ""}</span>
        <span class="spring" />
        {canNotify.value === "default" && (
          <button type="button" class="button small" onClick={wantNotifications}>
            <Icon name="bell" /> Notify me
          </button>
        )}
      </header>
      <div class="scroller page-body" tabIndex={0}>
        {!waiting.length && (
          <div class="empty">
            <h2>Nobody waits for you</h2>
            <p>Permissions, questions and plans of all sessions come together here.</p>
          </div>
        )}
        {waiting.map((ask) => (
          <Waiting key={ask.askId} ask={ask} />
        ))}
      </div>
    </div>
  );
}

function Waiting({ ask }: { ask: Ask }) {
  const session = sessions.value.get(ask.sessionId);
  return (
    <section class="waiting-ask" aria-label={session ? titleOf(session) : ask.sessionId}>
      <p class="muted">
        <a href={sessionHref(ask.sessionId, "conversation", ask.sequence)}>{session ? titleOf(session) : ask.sessionId}</a>
        {session && ` · ${session.agent}`} · {ago(ask.askedAt, now.value)}
      </p>
      <AskCard ask={ask.kind} id={ask.askId} session={ask.sessionId} request={ask.request as AskEntry["request"]} resolved={null} />
    </section>
  );
}
