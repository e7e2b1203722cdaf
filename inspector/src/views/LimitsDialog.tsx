/** The budgets of a session, and the time after which the daemon answers in the place of people. */
import { useState } from "preact/hooks";
import type { Session, UpdateSession } from "../api/types";
import { updateSession } from "../state/sessions";
import { Dialog } from "../parts/Dialog";
import { FieldFault, FormFault, useFault } from "../parts/Fault";
import { type LimitFields, limitsOf, typedLimits } from "../text/sessionlimits";

export const LIMIT_FIELDS = ["budgetUsd", "budgetTokens", "askTimeout"];

export function LimitsDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const [typed, setTyped] = useState(typedLimits(session));
  const [fault, run] = useFault();
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (await run(async () => (await updateSession(session.sessionId, limitsOf(typed) as UpdateSession), true))) onClose();
  };
  return (
    <Dialog title="Limits" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <LimitInputs value={typed} fault={fault} onChange={setTyped} />
        <FormFault of={fault} except={LIMIT_FIELDS} />
        <footer>
          <button type="submit" class="button primary">
            Save
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

export function LimitInputs({ value, fault, onChange }: { value: LimitFields; fault: Parameters<typeof FieldFault>[0]["of"]; onChange: (value: LimitFields) => void }) {
  const set = (change: Partial<LimitFields>) => onChange({ ...value, ...change });
  return (
    <div class="grid">
      <label>
        Budget in USD
        <input inputMode="decimal" placeholder="No budget" value={value.budgetUsd} onInput={(e) => set({ budgetUsd: e.currentTarget.value })} />
        <FieldFault of={fault} field="budgetUsd" />
      </label>
      <label>
        Budget in tokens
        <input inputMode="numeric" placeholder="No budget" value={value.budgetTokens} onInput={(e) => set({ budgetTokens: e.currentTarget.value })} />
        <FieldFault of={fault} field="budgetTokens" />
      </label>
      <label>
        Seconds to wait for an answer
        <input inputMode="decimal" placeholder="For ever" value={value.seconds} onInput={(e) => set({ seconds: e.currentTarget.value })} />
        <small>Then the daemon answers</small>
        <FieldFault of={fault} field="askTimeout" />
      </label>
      {value.seconds && (
        <>
          <label>
            Its answer to a permission
            <select value={value.permission} onChange={(e) => set({ permission: e.currentTarget.value as LimitFields["permission"] })}>
              <option value="deny">Deny</option>
              <option value="allow">Allow once</option>
            </select>
          </label>
          <label>
            Its answer to a question
            <input placeholder="Skip it" value={value.question} onInput={(e) => set({ question: e.currentTarget.value })} />
          </label>
        </>
      )}
    </div>
  );
}
