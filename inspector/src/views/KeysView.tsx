/** The API keys: made, listed, revoked. */
import { useEffect, useState } from "preact/hooks";
import type { Key } from "../api/types";
import { identity } from "../state/identity";
import { keys, loadKeys, revokeKey, stateOf } from "../state/keys";
import { now } from "../state/live";
import { attempt } from "../state/notices";
import { ago, money } from "../text/format";
import { Dialog } from "../parts/Dialog";
import { Icon } from "../parts/Icon";
import { NewKeyDialog } from "./NewKeyDialog";

const TAGS = { valid: "good", revoked: "failed", expired: "warn" };

export function KeysView() {
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Key | null>(null);
  useEffect(() => void attempt(loadKeys), []);
  const list = keys.value;
  return (
    <div class="page">
      <header class="page-header">
        <a class="icon-button back" href="#/" aria-label="All sessions">
          <Icon name="back" />
        </a>
        <h1>Keys</h1>
        <span class="spring" />
        <button type="button" class="button primary" onClick={() => setMaking(true)}>
          <Icon name="plus" /> New key
        </button>
      </header>
      <div class="scroller page-body" tabIndex={0} aria-busy={!list}>
        {list && !list.length && (
          <div class="empty">
            <h2>No keys yet</h2>
            <p>Give people and programs a key of their own: with a workspace, scopes, an expiry and a budget.</p>
          </div>
        )}
        {list && list.length > 0 && (
          <table class="records" aria-label="API keys">
            <thead>
              <tr>
                <th>Name</th>
                <th>Workspace</th>
                <th>Scopes</th>
                <th>Made</th>
                <th>Ends</th>
                <th>Limits</th>
                <th>State</th>
                <th>
                  <span class="hidden">Revoke</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {list.map((key) => (
                <Row key={key.keyId} of={key} onRevoke={() => setRevoking(key)} />
              ))}
            </tbody>
          </table>
        )}
      </div>
      {making && <NewKeyDialog onClose={() => setMaking(false)} />}
      {revoking && <Revoke of={revoking} onClose={() => setRevoking(null)} />}
    </div>
  );
}

function Row({ of: key, onRevoke }: { of: Key; onRevoke: () => void }) {
  const state = stateOf(key, now.value);
  const limits = [key.rate ? `${key.rate} a minute` : "", key.budgetUsd === null ? "" : `${money(key.spentUsd ?? 0) || "$0"} of ${money(key.budgetUsd ?? 0) || "$0"}`];
  return (
    <tr class={state === "valid" ? "" : "over"} data-key={key.keyId}>
      <td class="long" title={key.keyId}>
        <strong>{key.name}</strong> {key.keyId === identity.value?.keyId && <span class="tag">you</span>} {key.signIn && <span class="tag">sign-in</span>}
      </td>
      <td>{key.workspace}</td>
      <td>
        {key.scopes.map((scope) => (
          <span class="tag" key={scope}>
            {scope}
          </span>
        ))}
      </td>
      <td title={new Date(key.createdAt).toLocaleString()}>{ago(key.createdAt, now.value)}</td>
      <td>{key.expiresAt ? new Date(key.expiresAt).toLocaleString() : "never"}</td>
      <td>{limits.filter(Boolean).join(", ") || "none"}</td>
      <td>
        <span class={`tag ${TAGS[state]}`}>{state}</span>
      </td>
      <td>
        {state === "valid" && (
          <button type="button" class="button small" aria-label={`Revoke ${key.name}`} onClick={onRevoke}>
            Revoke…
          </button>
        )}
      </td>
    </tr>
  );
}

function Revoke({ of: key, onClose }: { of: Key; onClose: () => void }) {
  const act = () => {
    onClose();
    void attempt(() => revokeKey(key.keyId), `Revoked “${key.name}”.`);
  };
  return (
    <Dialog title={`Revoke “${key.name}”?`} onClose={onClose}>
      <p>
        {key.keyId === identity.value?.keyId ? "This is the key that you are signed in with: you are signed out. " : ""}
        Its requests are refused from now on, and its open streams end. This cannot be undone.
      </p>
      <footer>
        <button type="button" class="button" onClick={onClose}>
          Keep it
        </button>
        <button type="button" class="button danger" onClick={act}>
          Revoke
        </button>
      </footer>
    </Dialog>
  );
}
