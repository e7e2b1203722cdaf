/** Model, variant and modes of a session, changed while it lives: only what its agent offers, and can change. */
import { useEffect, useState } from "preact/hooks";
import type { Session, UpdateSession } from "../api/types";
import { agentNamed, type Choices, choicesOf, nameOf, offered } from "../state/agents";
import { attempt } from "../state/notices";
import { updateSession } from "../state/sessions";

interface Option {
  value: string;
  label: string;
}

export function Settings({ session }: { session: Session }) {
  const [choices, setChoices] = useState<Choices | null>(null);
  const can = agentNamed(session.agent)?.capabilities;
  useEffect(() => {
    let mine = true;
    choicesOf(session.agent).then(
      (found) => mine && setChoices(found),
      () => undefined,
    );
    return () => void (mine = false);
  }, [session.agent]);
  if (!choices) return null;
  const change = (update: UpdateSession) => attempt(() => updateSession(session.sessionId, update));
  const { models, modes } = choices;
  const current = models.models.find((model) => model.id === (session.model ?? models.defaultModel));
  const modelOptions = models.models.map((model) => ({ value: model.id, label: model.name ?? model.id }));
  if (session.model && !modelOptions.some((option) => option.value === session.model)) {
    modelOptions.unshift({ value: session.model, label: session.model });
  }
  return (
    <div class="settings">
      <Choice label="Model" value={session.model ?? ""} fixed={!can?.modelChange} onChange={(model) => change({ model: model || null })} options={[{ value: "", label: nameOf(models, models.defaultModel) ?? "Default model" }, ...modelOptions.filter((each) => each.value !== models.defaultModel || session.model === each.value)]} />
      {current && (current.variants?.length ?? 0) > 0 && (
        <Choice label="Variant" value={session.variant ?? ""} fixed={!can?.modelChange} onChange={(variant) => change({ variant: variant || null })} options={[{ value: "", label: current.defaultVariant ? `${current.defaultVariant} (default)` : "Default" }, ...(current.variants ?? []).map((each) => ({ value: each, label: each }))]} />
      )}
      {modes.modes.length > 1 && <Choice label="Mode" value={session.agentMode} fixed={!can?.modeChange} onChange={(agentMode) => change({ agentMode })} options={modes.modes.map((mode) => ({ value: mode.id, label: mode.name }))} />}
      <Choice label="Permissions" value={session.permissionMode} fixed={!can?.modeChange} onChange={(permissionMode) => change({ permissionMode })} options={offered(modes, session.permissionMode).map((mode) => ({ value: mode.id, label: mode.name }))} />
    </div>
  );
}

function Choice({ label, value, options, fixed, onChange }: { label: string; value: string; options: Option[]; fixed: boolean; onChange: (value: string) => void }) {
  return (
    <label title={label}>
      {label === "Permissions" && <span>{label}</span>}
      <select class="quiet" aria-label={label} value={value} disabled={fixed} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </label>
  );
}
