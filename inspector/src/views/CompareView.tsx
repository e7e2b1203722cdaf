/** Two sessions side by side: what they cost, what they answered, what they changed. */
import { useEffect, useState } from "preact/hooks";
import type { Session, UsageSum } from "../api/types";
import { sumOf, type Work, workOf } from "../state/changes";
import { attempt } from "../state/notices";
import { go, sessionHref } from "../state/route";
import { refresh, sessions, sorted } from "../state/sessions";
import { count, duration, money, tokenParts, tokensOf } from "../text/format";
import { Dialog } from "../parts/Dialog";
import { Icon } from "../parts/Icon";
import { Markdown } from "../parts/Markdown";
import { StatusPill } from "../parts/Status";
import { Files, totals } from "./ChangesView";
import { titleOf } from "./Sidebar";

export function CompareView({ ids }: { ids: [string, string] }) {
  return (
    <div class="page">
      <header class="page-header">
        <a class="icon-button back" href={sessionHref(ids[0])} aria-label="Back to the session">
          <Icon name="back" />
        </a>
        <h1>Side by side</h1>
      </header>
      <div class="scroller page-body compare" tabIndex={0}>
        {ids.map((id) => (
          <Side key={id} id={id} />
        ))}
      </div>
    </div>
  );
}

function Side({ id }: { id: string }) {
  const session = sessions.value.get(id);
  const [found, setFound] = useState<{ work: Work; sum: UsageSum } | null>(null);
  useEffect(() => {
    if (!session) void refresh(id);
    void attempt(async () => ({ work: await workOf(id), sum: await sumOf(id) })).then((read) => read && setFound(read));
  }, [id, session?.eventCount]);
  if (!session || !found) return <section aria-busy="true" aria-label={id} />;
  return (
    <section aria-label={titleOf(session)}>
      <h2>
        <a href={sessionHref(id)}>{titleOf(session)}</a> <StatusPill status={session.status} />
      </h2>
      <Facts session={session} sum={found.sum} files={found.work.files.length ? totals(found.work.files) : "none"} />
      <h3>Last answer</h3>
      {found.work.answer ? <Markdown text={found.work.answer} /> : <p class="muted">None yet</p>}
      <h3>Edits</h3>
      <Files session={session} files={found.work.files} />
      {!found.work.files.length && <p class="muted">No file was edited</p>}
    </section>
  );
}

function Facts({ session, sum, files }: { session: Session; sum: UsageSum; files: string }) {
  const facts: [string, string, string?][] = [
    ["Agent", session.agent],
    ["Model", session.model ?? "default"],
    ["Directory", session.directory ?? ""],
    ["Turns", count(sum.turns)],
    ["Tokens", count(tokensOf(session.usage)), tokenParts(session.usage)],
    ["Cost", money(session.costUsd) || "unknown"],
    ["Waited for people", duration(sum.waitedSeconds * 1000)],
    ["Edits", files],
  ];
  return (
    <dl class="compared">
      {facts.map(([name, value, title]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd title={title}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function CompareDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const others = sorted().filter((each) => each.sessionId !== session.sessionId);
  const [other, setOther] = useState(others[0]?.sessionId ?? "");
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    onClose();
    go({ view: "compare", ids: [session.sessionId, other] });
  };
  return (
    <Dialog title="Compare with another session" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <label>
          Session
          <select value={other} onChange={(event) => setOther(event.currentTarget.value)}>
            {others.map((each) => (
              <option key={each.sessionId} value={each.sessionId}>
                {titleOf(each)} · {each.agent}
              </option>
            ))}
          </select>
        </label>
        <footer>
          <button type="submit" class="button primary" disabled={!other}>
            Compare
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
