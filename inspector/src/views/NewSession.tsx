/** A new session: only what the chosen agent really offers can be chosen. */
import { useEffect, useState } from "preact/hooks";
import { post } from "../api/client";
import type { Agent, CreateSession, SendMessage } from "../api/types";
import { agents, choicesOf, type Choices, defaultAgent, nameOf, offered } from "../state/agents";
import { may } from "../state/identity";
import { notify } from "../state/notices";
import { createSession, recentDirectories, unsent } from "../state/sessions";
import { overlay } from "../state/shown";
import { go, href } from "../state/route";
import { basename } from "../text/format";
import { limitsOf } from "../text/sessionlimits";
import { servers, variables } from "../text/sessionoptions";
import { Dialog } from "../parts/Dialog";
import { FieldFault, FormFault, useFault } from "../parts/Fault";
import { NO_OPTIONS, OPTION_FIELDS, type Options, SessionOptions } from "./SessionOptions";

const KEY = "everyagent.new";
const FIELDS = ["agent", "model", "variant", "agentMode", "permissionMode", "directory", "worktree", "title", ...OPTION_FIELDS];

/** The one that was used last, the server's default, or one that is ready. */
function usualAgent(installed: Agent[]): string {
  const named = [localStorage.getItem(KEY), defaultAgent.value];
  const found = named.map((id) => installed.find((each) => each.id === id)).find(Boolean) ?? installed.find((each) => each.credentialsAvailable) ?? installed[0];
  return found?.id ?? "";
}

function requested(agent: string, form: CreateSession, options: Options): CreateSession {
  const given = Object.fromEntries(Object.entries(form).filter(([, value]) => value)) as CreateSession;
  const { default: every, ...tools } = options.policies;
  return {
    ...given,
    agent,
    env: variables("env", options.env),
    secrets: variables("secrets", options.secrets),
    mcp: servers(options.mcp),
    lifetime: options.lifetime,
    ...limitsOf(options.limits),
    ...(Object.keys(options.policies).length && { toolPolicies: { default: every ?? "auto", tools } }),
    ...(options.isolation && { isolation: options.isolation as NonNullable<CreateSession["isolation"]> }),
  };
}

export function NewSession() {
  const installed = agents.value?.filter((agent) => agent.installed) ?? [];
  const [chosen, setAgent] = useState<string | null>(null);
  const agent = chosen ?? usualAgent(installed);
  const [choices, setChoices] = useState<Choices | null>(null);
  const [form, setForm] = useState<CreateSession>({});
  const [options, setOptions] = useState(NO_OPTIONS);
  const [prompt, setPrompt] = useState("");
  const [busy, setBusy] = useState(false);
  const [fault, run] = useFault();
  const close = () => (overlay.value = null);
  useEffect(() => {
    let mine = true;
    setChoices(null);
    setForm(({ title, directory, worktree }) => ({ title, directory, worktree }));
    if (agent) void run(() => choicesOf(agent).then((found) => mine && setChoices(found)));
    return () => void (mine = false);
  }, [agent]);
  const set = (change: Partial<CreateSession>) => setForm({ ...form, ...change });
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    const session = await run(async () => createSession(requested(agent, form, options)));
    setBusy(false);
    if (!session) return;
    localStorage.setItem(KEY, agent);
    close();
    go({ view: "session", id: session.sessionId, tab: "conversation", at: null });
    if (prompt.trim()) await sendFirst(session.sessionId, prompt.trim());
  };
  const usual = choices && nameOf(choices.models, choices.models.defaultModel);
  const model = choices?.models.models.find((each) => each.id === (form.model || choices.models.defaultModel));
  const variants = model?.variants ?? [];
  const permission = choices?.modes.permissionModes.find((each) => each.id === (form.permissionMode || "default"));
  const others = (agents.value?.length ?? 0) - installed.length;
  const selected = installed.find((each) => each.id === agent);
  const directories = recentDirectories();
  return (
    <Dialog title="New session" onClose={close}>
      <form class="form" onSubmit={submit}>
        <fieldset class="agents-choice">
          <legend>Agent</legend>
          {installed.map((each) => (
            <label key={each.id} class="choice">
              <input type="radio" name="agent" value={each.id} checked={agent === each.id} onChange={() => setAgent(each.id)} />
              <span>
                {each.title} {each.id === defaultAgent.value && <span class="tag">default</span>}
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
          <FieldFault of={fault} field="agent" />
        </fieldset>
        <label>
          First message
          <textarea
            rows={3}
            placeholder="What the agent should do; may be empty"
            value={prompt}
            onInput={(e) => setPrompt(e.currentTarget.value)}
            onKeyDown={(e) => e.key === "Enter" && e.ctrlKey && e.currentTarget.form?.requestSubmit()}
          />
        </label>
        <label>
          Directory
          <input placeholder="/absolute/path" value={form.directory ?? ""} onInput={(e) => set({ directory: e.currentTarget.value })} />
          <small>Empty: where the daemon was started</small>
          <FieldFault of={fault} field="directory" />
        </label>
        {directories.length > 0 && (
          <div class="recent" role="group" aria-label="Recent directories">
            {directories.map((each) => (
              <button type="button" key={each} class="button small" title={each} aria-pressed={form.directory === each} onClick={() => set({ directory: each })}>
                {basename(each)}
              </button>
            ))}
          </div>
        )}
        <label class="check">
          <input type="checkbox" checked={form.worktree ?? false} onChange={(e) => set({ worktree: e.currentTarget.checked })} />
          In a git worktree of its own
          <small>The agent works on a new branch; your files stay as they are until it is merged</small>
          <FieldFault of={fault} field="worktree" />
        </label>
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
                <FieldFault of={fault} field="model" />
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
                <FieldFault of={fault} field="variant" />
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
                <FieldFault of={fault} field="agentMode" />
              </label>
            )}
            <label>
              Permissions
              <select value={form.permissionMode ?? "default"} onChange={(e) => set({ permissionMode: e.currentTarget.value })}>
                {offered(choices.modes, "").map((each) => (
                  <option key={each.id} value={each.id} title={each.description}>
                    {each.name}
                  </option>
                ))}
              </select>
              {permission?.description && <small>{permission.description}</small>}
              <FieldFault of={fault} field="permissionMode" />
            </label>
          </div>
        )}
        <label>
          Title
          <input placeholder="Empty: the beginning of the first message" value={form.title ?? ""} onInput={(e) => set({ title: e.currentTarget.value })} />
          <FieldFault of={fault} field="title" />
        </label>
        {selected && <SessionOptions agent={selected} value={options} fault={fault} onChange={setOptions} />}
        <FormFault of={fault} except={FIELDS} />
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

/** A message that is refused is not lost: it is where the session's next one is written. */
async function sendFirst(id: string, message: string): Promise<void> {
  try {
    await post(`v1/sessions/${encodeURIComponent(id)}/messages`, { message } satisfies SendMessage);
  } catch (error) {
    unsent.value = { id, messages: [{ message }] };
    notify(error instanceof Error ? error.message : String(error), "error");
  }
}
