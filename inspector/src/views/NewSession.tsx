/** A new session: only what the chosen agent really offers can be chosen. */
import { useEffect, useState } from "preact/hooks";
import type { CreateSession } from "../api/types";
import { agents, choicesOf, type Choices, nameOf } from "../state/agents";
import { may } from "../state/identity";
import { attempt, notify } from "../state/notices";
import { createSession, sessions } from "../state/sessions";
import { overlay } from "../state/shown";
import { go, href } from "../state/route";
import { Dialog } from "../parts/Dialog";

const KEY = "everyagent.new";

export function NewSession() {
  const installed = agents.value?.filter((agent) => agent.installed) ?? [];
  const remembered = localStorage.getItem(KEY);
  const [chosen, setAgent] = useState<string | null>(null);
  const agent = chosen ?? installed.find((each) => each.id === remembered)?.id ?? installed[0]?.id ?? "";
  const [choices, setChoices] = useState<Choices | null>(null);
  const [form, setForm] = useState<CreateSession>({});
  const [busy, setBusy] = useState(false);
  const close = () => (overlay.value = null);
  useEffect(() => {
    let mine = true;
    setChoices(null);
    setForm(({ title, directory }) => ({ title, directory }));
    if (agent) {
      choicesOf(agent).then(
        (found) => mine && setChoices(found),
        (error: Error) => notify(error.message, "error"),
      );
    }
    return () => void (mine = false);
  }, [agent]);
  const set = (change: Partial<CreateSession>) => setForm({ ...form, ...change });
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    const given = Object.fromEntries(Object.entries(form).filter(([, value]) => value)) as CreateSession;
    const session = await attempt(() => createSession({ ...given, agent }));
    setBusy(false);
    if (!session) return;
    localStorage.setItem(KEY, agent);
    close();
    go({ view: "session", id: session.sessionId, tab: "conversation", at: null });
  };
  const usual = choices && nameOf(choices.models, choices.models.defaultModel);
  const model = choices?.models.models.find((each) => each.id === (form.model || choices.models.defaultModel));
  const variants = model?.variants ?? [];
  const permission = choices?.modes.permissionModes.find((each) => each.id === (form.permissionMode || "default"));
  const others = (agents.value?.length ?? 0) - installed.length;
  const directories = [...new Set([...sessions.value.values()].flatMap((session) => session.directory ?? []))].slice(0, 20);
  return (
    <Dialog title="New session" onClose={close}>
      <form class="form" onSubmit={submit}>
        <fieldset class="agents-choice">
          <legend>Agent</legend>
          {installed.map((each) => (
            <label key={each.id} class="choice">
              <input type="radio" name="agent" value={each.id} checked={agent === each.id} onChange={() => setAgent(each.id)} />
              <span>
                {each.title}
                <small>{each.login ? each.login : each.credentialsAvailable ? each.version : "not logged in"}</small>
              </span>
            </label>
          ))}
          {others > 0 && may("admin") && (
            <p class="more">
              <a href={href({ view: "agents" })} onClick={close}>
                {installed.length ? `Install one of ${others} others` : "No agent is installed: install one"}
              </a>
            </p>
          )}
        </fieldset>
        {choices && (
          <div class="grid">
            {(choices.models.models.length > 0 || choices.models.openModels) && (
              <label>
                Model
                {choices.models.openModels ? (
                  <>
                    <input list="models" placeholder={usual ?? "default"} value={form.model ?? ""} onInput={(e) => set({ model: e.currentTarget.value, variant: null })} />
                    <datalist id="models">
                      {choices.models.models.map((each) => (
                        <option key={each.id} value={each.id}>
                          {each.name ?? each.id}
                        </option>
                      ))}
                    </datalist>
                  </>
                ) : (
                  <select value={form.model ?? ""} onChange={(e) => set({ model: e.currentTarget.value, variant: null })}>
                    <option value="">Default{usual ? ` (${usual})` : ""}</option>
                    {choices.models.models.map((each) => (
                      <option key={each.id} value={each.id}>
                        {each.name ?? each.id}
                      </option>
                    ))}
                  </select>
                )}
              </label>
            )}
            {variants.length > 0 && (
              <label>
                Variant
                <select value={form.variant ?? ""} onChange={(e) => set({ variant: e.currentTarget.value })}>
                  <option value="">Default{model?.defaultVariant ? ` (${model.defaultVariant})` : ""}</option>
                  {variants.map((each) => (
                    <option key={each}>{each}</option>
                  ))}
                </select>
              </label>
            )}
            {choices.modes.modes.length > 1 && (
              <label>
                Mode
                <select value={form.agentMode ?? ""} onChange={(e) => set({ agentMode: e.currentTarget.value })}>
                  {choices.modes.modes.map((each, index) => (
                    <option key={each.id} value={index ? each.id : ""} title={each.description}>
                      {each.name}
                    </option>
                  ))}
                </select>
              </label>
            )}
            <label>
              Permissions
              <select value={form.permissionMode ?? "default"} onChange={(e) => set({ permissionMode: e.currentTarget.value })}>
                {choices.modes.permissionModes.map((each) => (
                  <option key={each.id} value={each.id} title={each.description}>
                    {each.name}
                  </option>
                ))}
              </select>
              {permission?.description && <small>{permission.description}</small>}
            </label>
          </div>
        )}
        <label>
          Directory
          <input list="directories" placeholder="/absolute/path" value={form.directory ?? ""} onInput={(e) => set({ directory: e.currentTarget.value })} />
          <small>Empty: where the daemon was started</small>
          <datalist id="directories">
            {directories.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
        </label>
        <label>
          Lifetime
          <select value={form.lifetime ?? "open"} onChange={(e) => set({ lifetime: e.currentTarget.value as CreateSession["lifetime"] })}>
            <option value="open">Until it is terminated</option>
            <option value="process">As long as the agent's process</option>
            <option value="turn">One turn</option>
          </select>
        </label>
        <label>
          Title
          <input placeholder="optional" value={form.title ?? ""} onInput={(e) => set({ title: e.currentTarget.value })} />
        </label>
        <footer>
          <button type="button" class="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="button primary" disabled={!agent || busy}>
            {busy ? "Starting…" : "Start session"}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
