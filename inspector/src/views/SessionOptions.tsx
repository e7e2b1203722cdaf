/** What a new session may have beside its agent: variables, MCP servers, tool policies, isolation, lifetime, budgets. */
import type { Agent, CreateSession } from "../api/types";
import { type Fault, FieldFault } from "../parts/Fault";
import { type LimitFields, NO_LIMITS } from "../text/sessionlimits";
import { LIMIT_FIELDS, LimitInputs } from "./LimitsDialog";

type Verdict = "auto" | "allow" | "ask" | "deny";

/** As they are typed: text that is read when the session is started. */
export interface Options {
  env: string;
  secrets: string;
  mcp: string;
  policies: Record<string, Verdict>;
  isolation: string;
  lifetime: NonNullable<CreateSession["lifetime"]>;
  limits: LimitFields;
}

export const NO_OPTIONS: Options = { env: "", secrets: "", mcp: "", policies: {}, isolation: "", lifetime: "open", limits: NO_LIMITS };
/** Faults of these are shown at their fields. */
export const OPTION_FIELDS = ["env", "secrets", "mcp", "toolPolicies", "isolation", "lifetime", ...LIMIT_FIELDS];

const EVERY_TOOL = "default";
const TOOLS: [id: string, name: string][] = [
  [EVERY_TOOL, "Every tool"],
  ["bash", "Commands"],
  ["read", "Read files"],
  ["write", "Write files"],
  ["edit", "Edit files"],
  ["web_fetch", "Fetch pages"],
  ["web_search", "Search the web"],
];
const VERDICTS: Record<Verdict, string> = { auto: "As permissions say", allow: "Allow", ask: "Ask", deny: "Deny" };
const ISOLATIONS: Record<string, string> = { none: "None", namespace: "Namespaces of Linux", container: "Container" };

export function SessionOptions({ agent, value, fault, onChange }: { agent: Agent; value: Options; fault: Fault | null; onChange: (value: Options) => void }) {
  const set = (change: Partial<Options>) => onChange({ ...value, ...change });
  return (
    <details class="options">
      <summary>Environment, MCP servers, tool policies, isolation, budgets</summary>
      <label>
        Environment
        <textarea rows={2} spellcheck={false} placeholder="NAME=value, one on each line" value={value.env} onInput={(e) => set({ env: e.currentTarget.value })} />
        <FieldFault of={fault} field="env" />
      </label>
      <label>
        Secrets
        <textarea rows={2} spellcheck={false} placeholder="NAME=value, one on each line" value={value.secrets} onInput={(e) => set({ secrets: e.currentTarget.value })} />
        <small>Variables for the agent, like the environment. Their values are masked wherever they appear</small>
        <FieldFault of={fault} field="secrets" />
      </label>
      {agent.capabilities.mcpTools && (
        <label>
          MCP servers
          <textarea rows={2} spellcheck={false} placeholder="name=https://example.com/mcp, or name=command with arguments" value={value.mcp} onInput={(e) => set({ mcp: e.currentTarget.value })} />
          <FieldFault of={fault} field="mcp" />
        </label>
      )}
      {agent.capabilities.toolPolicies && (
        <fieldset class="policies">
          <legend>Tool policies</legend>
          <div class="grid">
            {TOOLS.map(([id, name]) => (
              <label key={id}>
                {name}
                <select value={value.policies[id] ?? "auto"} onChange={(e) => set({ policies: { ...value.policies, [id]: e.currentTarget.value as Verdict } })}>
                  {Object.entries(VERDICTS).map(([verdict, word]) => (
                    <option key={verdict} value={verdict}>
                      {word}
                    </option>
                  ))}
                </select>
              </label>
            ))}
          </div>
          <FieldFault of={fault} field="toolPolicies" />
        </fieldset>
      )}
      <div class="grid">
        <label>
          Isolation
          <select value={value.isolation} onChange={(e) => set({ isolation: e.currentTarget.value })}>
            <option value="">Default{agent.isolation ? ` (${ISOLATIONS[agent.isolation]?.toLowerCase()})` : ""}</option>
            {(agent.isolations ?? []).map((each) => (
              <option key={each} value={each}>
                {ISOLATIONS[each] ?? each}
              </option>
            ))}
          </select>
          <FieldFault of={fault} field="isolation" />
        </label>
        <label>
          Lifetime
          <select value={value.lifetime} onChange={(e) => set({ lifetime: e.currentTarget.value as Options["lifetime"] })}>
            <option value="open">Until it is terminated</option>
            <option value="process">As long as the agent's process</option>
            <option value="turn">One turn</option>
          </select>
          <FieldFault of={fault} field="lifetime" />
        </label>
      </div>
      <LimitInputs value={value.limits} fault={fault} onChange={(limits) => set({ limits })} />
    </details>
  );
}
