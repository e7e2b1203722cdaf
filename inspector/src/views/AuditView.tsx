/** The audit trail: who did what, newest first. */
import { useEffect, useState } from "preact/hooks";
import type { AuditEntry, AuditState } from "../api/types";
import { identity } from "../state/identity";
import { type AuditFilter, auditPage, keys, loadKeys, verifyAudit } from "../state/keys";
import { attempt } from "../state/notices";
import { sessionHref } from "../state/route";
import { plural } from "../text/format";
import { Icon } from "../parts/Icon";

export function AuditView() {
  const [filter, setFilter] = useState<AuditFilter>({ keyId: "", sessionId: "" });
  const [entries, setEntries] = useState<AuditEntry[] | null>(null);
  const [next, setNext] = useState<string | null>(null);
  const [state, setState] = useState<AuditState | null>(null);
  const everywhere = identity.value?.workspace === null;
  const load = async (more = false) => {
    const page = await attempt(() => auditPage(filter, more ? next : null));
    if (!page) return;
    setEntries(more ? [...(entries ?? []), ...page.entries] : page.entries);
    setNext(page.nextPage ?? null);
  };
  useEffect(() => void attempt(loadKeys), []);
  useEffect(() => void load(), [filter]);
  const verify = async () => setState((await attempt(verifyAudit)) ?? null);
  return (
    <div class="page">
      <header class="page-header">
        <a class="icon-button back" href="#/" aria-label="All sessions">
          <Icon name="back" />
        </a>
        <h1>Audit</h1>
        <select aria-label="Key" value={filter.keyId} onChange={(event) => setFilter({ ...filter, keyId: event.currentTarget.value })}>
          <option value="">Anybody</option>
          {everywhere && <option value="owner">owner</option>}
          {keys.value?.map((key) => (
            <option key={key.keyId} value={key.keyId}>
              {key.name}
            </option>
          ))}
        </select>
        <input type="search" aria-label="Session id" placeholder="Session id" value={filter.sessionId} onChange={(event) => setFilter({ ...filter, sessionId: event.currentTarget.value.trim() })} />
        <span class="spring" />
        {everywhere && (
          <button type="button" class="button" onClick={verify}>
            <Icon name="check" /> Verify
          </button>
        )}
        <button type="button" class="button" onClick={() => void load()}>
          Reload
        </button>
      </header>
      <div class="scroller page-body" tabIndex={0} aria-busy={!entries}>
        {state && <Verdict state={state} />}
        {entries && !entries.length && (
          <div class="empty">
            <h2>Nothing here</h2>
            <p>Every request that may change something is listed here, with its key and its outcome.</p>
          </div>
        )}
        {entries && entries.length > 0 && (
          <table class="records" aria-label="Audit trail">
            <thead>
              <tr>
                <th>#</th>
                <th>Time</th>
                <th>Who</th>
                {everywhere && <th>Workspace</th>}
                <th>What</th>
                <th>Session</th>
                <th>Subject</th>
                <th>Outcome</th>
              </tr>
            </thead>
            <tbody>
              {entries.map((entry) => (
                <tr key={entry.number}>
                  <td>{entry.number}</td>
                  <td>{new Date(entry.time).toLocaleString()}</td>
                  <td title={entry.keyId}>{entry.name}</td>
                  {everywhere && <td>{entry.workspace}</td>}
                  <td class="long">
                    <code>{entry.operation}</code>
                  </td>
                  <td class="long">{entry.sessionId && <a href={sessionHref(entry.sessionId)}>{entry.sessionId}</a>}</td>
                  <td class="long">{entry.subject}</td>
                  <td>
                    <span class={`tag ${entry.outcome === "ok" ? "good" : "failed"}`}>{entry.outcome}</span>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {next !== null && (
          <p class="older">
            <button type="button" class="button" onClick={() => void load(true)}>
              Older
            </button>
          </p>
        )}
      </div>
    </div>
  );
}

function Verdict({ state }: { state: AuditState }) {
  return (
    <p class={state.valid ? "verdict" : "verdict problem"} role="status">
      {state.valid ? `The chain of ${plural(state.entries, "entry").replace(/ys$/, "ies")} is intact. Digest: ` : `The chain is broken after entry ${state.entries}: ${state.problem} Digest: `}
      <code>{state.digest}</code>
    </p>
  );
}
