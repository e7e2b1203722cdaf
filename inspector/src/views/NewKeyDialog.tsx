/** Makes an API key, and shows its secret once. */
import { useState } from "preact/hooks";
import type { NewKey, Scope } from "../api/types";
import { identity } from "../state/identity";
import { createKey, keys } from "../state/keys";
import { CopyButton } from "../parts/CopyButton";
import { Dialog } from "../parts/Dialog";
import { FieldFault, FormFault, useFault } from "../parts/Fault";

const SCOPES: [Scope, string][] = [
  ["read", "see sessions and what happened in them"],
  ["run", "create and change sessions, send messages"],
  ["answer", "answer permissions, questions and tool calls"],
  ["admin", "all of these; keys, audit, installing agents"],
];
const DAY = 86_400_000;
const SPANS: [number, string][] = [
  [0, "Never"],
  [DAY, "In a day"],
  [7 * DAY, "In 7 days"],
  [30 * DAY, "In 30 days"],
  [90 * DAY, "In 90 days"],
  [365 * DAY, "In a year"],
];

export function NewKeyDialog({ onClose }: { onClose: () => void }) {
  const [made, setMade] = useState<NewKey | null>(null);
  return made ? <Made made={made} onClose={onClose} /> : <Form onMade={setMade} onClose={onClose} />;
}

function Form({ onMade, onClose }: { onMade: (made: NewKey) => void; onClose: () => void }) {
  const mine = identity.value?.workspace ?? null;
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<Scope[]>(["read"]);
  const [workspace, setWorkspace] = useState("");
  const [span, setSpan] = useState(30 * DAY);
  const [rate, setRate] = useState("");
  const [budget, setBudget] = useState("");
  const [busy, setBusy] = useState(false);
  const [fault, run] = useFault();
  const workspaces = [...new Set(["default", ...(keys.value ?? []).map((key) => key.workspace)])];
  const toggle = (scope: Scope) => setScopes(scopes.includes(scope) ? scopes.filter((each) => each !== scope) : [...scopes, scope]);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    const asked = {
      name: name.trim(),
      scopes,
      workspace: workspace.trim() || null,
      expiresAt: span ? Date.now() + span : null,
      rate: rate ? Number(rate) : null,
      budgetUsd: budget ? Number(budget) : null,
    };
    const made = await run(() => createKey(asked));
    setBusy(false);
    if (made) onMade(made);
  };
  return (
    <Dialog title="New key" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <label>
          Name
          <input required maxLength={100} placeholder="Who or what uses it" value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <fieldset>
          <legend>Scopes</legend>
          {SCOPES.map(([scope, what]) => (
            <label class="choice" key={scope}>
              <input type="checkbox" checked={scopes.includes(scope)} onChange={() => toggle(scope)} />
              <span>
                {scope}
                <small>{what}</small>
              </span>
            </label>
          ))}
        </fieldset>
        <div class="grid">
          <label>
            Workspace
            {mine === null ? (
              <>
                <input list="workspaces" pattern="[a-z0-9][a-z0-9_\-]{0,62}" title="1 to 63 of a-z, 0-9, - and _" placeholder="default" value={workspace} onInput={(event) => setWorkspace(event.currentTarget.value)} />
                <datalist id="workspaces">
                  {workspaces.map((each) => (
                    <option key={each} value={each} />
                  ))}
                </datalist>
              </>
            ) : (
              <input value={mine} disabled />
            )}
            <FieldFault of={fault} field="workspace" />
          </label>
          <label>
            Ends
            <select value={span} onChange={(event) => setSpan(Number(event.currentTarget.value))}>
              {SPANS.map(([each, label]) => (
                <option key={each} value={each}>
                  {label}
                </option>
              ))}
            </select>
            <FieldFault of={fault} field="expiresAt" />
          </label>
          <label>
            Requests a minute
            <input type="number" min="1" max="1000000" step="1" placeholder="no limit" value={rate} onInput={(event) => setRate(event.currentTarget.value)} />
            <FieldFault of={fault} field="rate" />
          </label>
          <label>
            Budget in USD
            <input type="number" min="0" step="any" placeholder="no limit" value={budget} onInput={(event) => setBudget(event.currentTarget.value)} />
            <FieldFault of={fault} field="budgetUsd" />
          </label>
        </div>
        <FormFault of={fault} except={["workspace", "expiresAt", "rate", "budgetUsd"]} />
        <footer>
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button primary" disabled={busy || !scopes.length}>
            Make key
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

function Made({ made: { key, secret }, onClose }: { made: NewKey; onClose: () => void }) {
  return (
    <Dialog title={`The key “${key.name}”`} onClose={onClose}>
      <p>This is its secret. Copy it now: only a hash of it is stored, so it is not shown again.</p>
      <pre class="secret" tabIndex={0} aria-label="Secret of the key">
        <code>{secret}</code>
      </pre>
      <footer>
        <CopyButton text={secret} label="Copy the secret">
          Copy
        </CopyButton>
        <button type="button" class="button primary" onClick={onClose}>
          Done
        </button>
      </footer>
    </Dialog>
  );
}
