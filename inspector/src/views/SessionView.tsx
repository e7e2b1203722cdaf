/** One session: its header, and one of conversation, events, timeline. */
import { useEffect, useState } from "preact/hooks";
import type { Session } from "../api/types";
import { may } from "../state/identity";
import { conversation } from "../state/live";
import { attempt } from "../state/notices";
import { deleteSession, exportSession, forkSession, refresh, sessions, terminateSession, updateSession } from "../state/sessions";
import { go, href, sessionHref, type Tab } from "../state/route";
import { limitWords } from "../text/sessionlimits";
import { count, money, plural, tokenParts, tokensOf } from "../text/format";
import { Dialog } from "../parts/Dialog";
import { FormFault, useFault } from "../parts/Fault";
import { Icon } from "../parts/Icon";
import { Menu } from "../parts/Menu";
import { StatusPill } from "../parts/Status";
import { ChangesView } from "./ChangesView";
import { CompareDialog } from "./CompareView";
import { ConversationView } from "./ConversationView";
import { EventsView } from "./EventsView";
import { LimitsDialog } from "./LimitsDialog";
import { titleOf } from "./Sidebar";
import { Timeline } from "./Timeline";

const TABS: [Tab, string][] = [
  ["conversation", "Conversation"],
  ["events", "Events"],
  ["timeline", "Timeline"],
  ["changes", "Changes"],
];

export function SessionView({ id, tab, at }: { id: string; tab: Tab; at: number | null }) {
  const session = sessions.value.get(id);
  const [missing, setMissing] = useState(false);
  useEffect(() => {
    if (!session) void refresh(id).then((found) => setMissing(!found));
  }, [id, !session]);
  if (!session) {
    return (
      <div class="empty" aria-busy={!missing}>
        {missing && (
          <>
            <h1>This session is gone</h1>
            <p>It was deleted, or it never was on this daemon.</p>
            <a class="button" href={href({ view: "home" })}>
              All sessions
            </a>
          </>
        )}
      </div>
    );
  }
  return (
    <div class="session">
      <Header session={session} tab={tab} />
      {tab === "conversation" && conversation.value?.id === id && <ConversationView session={session} conversation={conversation.value} at={at} />}
      {tab === "events" && <EventsView session={session} at={at} />}
      {tab === "timeline" && <Timeline session={session} />}
      {tab === "changes" && <ChangesView session={session} />}
    </div>
  );
}

function Header({ session, tab }: { session: Session; tab: Tab }) {
  const [asking, setAsking] = useState<"rename" | "delete" | "terminate" | "compare" | "limits" | null>(null);
  const id = session.sessionId;
  const usage = session.usage;
  const tokens = tokensOf(usage);
  const fork = async () => {
    const made = await attempt(() => forkSession(id), "Forked: this is the new session.");
    if (made) go({ view: "session", id: made.sessionId, tab: "conversation", at: null });
  };
  return (
    <header class="session-header">
      <a class="icon-button back" href="#/" aria-label="All sessions">
        <Icon name="back" />
      </a>
      <div class="names">
        <h1 title={id}>{titleOf(session)}</h1>
        <p class="muted facts">
          <span>{session.agent}</span>
          {session.model && <span>{session.model}</span>}
          {session.directory && <span title={session.directory}>{session.directory}</span>}
          <span>{plural(session.eventCount, "event")}</span>
          {tokens > 0 && (
            <span class="tokens" title={tokenParts(usage)}>
              {count(tokens)} tokens
            </span>
          )}
          {session.costUsd > 0 && <span>{money(session.costUsd)}</span>}
          {limitWords(session).map((words) => (
            <span key={words}>{words}</span>
          ))}
          {session.forkedFrom && (
            <a href={sessionHref(session.forkedFrom.sessionId, "conversation", session.forkedFrom.sequence)}>forked from {session.forkedFrom.sessionId}</a>
          )}
        </p>
      </div>
      <StatusPill status={session.status} />
      <nav class="tabs" aria-label="Views of this session">
        {TABS.map(([each, label]) => (
          <a key={each} href={sessionHref(id, each)} aria-current={tab === each ? "page" : undefined}>
            {label}
          </a>
        ))}
      </nav>
      <Menu
        label="What to do with this session"
        choices={[
          ...(may("run")
            ? [
                { label: "Rename…", act: () => setAsking("rename") },
                { label: "Fork", act: fork },
                ...(session.ended ? [] : [{ label: "Limits…", act: () => setAsking("limits") }]),
              ]
            : []),
          { label: "Compare with…", act: () => setAsking("compare") },
          { label: "Export as Markdown", act: () => attempt(() => exportSession(id, "markdown")) },
          { label: "Export as HTML", act: () => attempt(() => exportSession(id, "html")) },
          { label: "Export as JSON lines", act: () => attempt(() => exportSession(id, "jsonl")) },
          ...(session.ended || !may("run") ? [] : [{ label: "Terminate…", act: () => setAsking("terminate"), danger: true }]),
          ...(may("run") ? [{ label: "Delete…", act: () => setAsking("delete"), danger: true }] : []),
        ]}
      >
        <Icon name="more" />
      </Menu>
      {asking === "compare" && <CompareDialog session={session} onClose={() => setAsking(null)} />}
      {asking === "limits" && <LimitsDialog session={session} onClose={() => setAsking(null)} />}
      {asking === "rename" && <Rename session={session} onClose={() => setAsking(null)} />}
      {(asking === "delete" || asking === "terminate") && <Confirm session={session} what={asking} onClose={() => setAsking(null)} />}
    </header>
  );
}

function Rename({ session, onClose }: { session: Session; onClose: () => void }) {
  const [title, setTitle] = useState(session.title ?? "");
  const [fault, run] = useFault();
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (await run(() => updateSession(session.sessionId, { title: title.trim() || null }).then(() => true))) onClose();
  };
  return (
    <Dialog title="Rename session" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <label>
          Title
          <input value={title} autoFocus onInput={(event) => setTitle(event.currentTarget.value)} />
        </label>
        <FormFault of={fault} />
        <footer>
          <button type="submit" class="button primary">
            Rename
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

const CONSEQUENCES = {
  delete: "The agent is stopped, and every event of this session is removed. This cannot be undone.",
  terminate: "The agent and everything it started are stopped, and the session ends. Its events stay.",
};

function Confirm({ session, what, onClose }: { session: Session; what: "delete" | "terminate"; onClose: () => void }) {
  const act = async () => {
    onClose();
    const id = session.sessionId;
    if (what === "terminate") return attempt(() => terminateSession(id), "Terminated.");
    await attempt(() => deleteSession(id), "Deleted.");
    go({ view: "home" });
  };
  const word = what === "delete" ? "Delete" : "Terminate";
  return (
    <Dialog title={`${word} “${titleOf(session)}”?`} onClose={onClose}>
      <p>{CONSEQUENCES[what]}</p>
      <footer>
        <button type="button" class="button" onClick={onClose}>
          Keep it
        </button>
        <button type="button" class="button danger" onClick={act}>
          {word}
        </button>
      </footer>
    </Dialog>
  );
}
