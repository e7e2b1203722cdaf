/** The agents: what is installed, what each can do, what it said that nobody knows. */
import { useEffect, useState } from "preact/hooks";
import type { Agent, Modes as ModesOf } from "../api/types";
import { agents, type Choices, choicesOf, installAgent, watchAgents } from "../state/agents";
import { may } from "../state/identity";
import { bytes, duration, plural } from "../text/format";
import { Icon } from "../parts/Icon";
import { UnknownFrames } from "./UnknownFrames";

export function AgentsView() {
  useEffect(watchAgents, []);
  return (
    <div class="page">
      <header class="page-header">
        <a class="icon-button back" href="#/" aria-label="All sessions">
          <Icon name="back" />
        </a>
        <h1>Agents</h1>
      </header>
      <div class="scroller page-body cards" tabIndex={0}>
        {agents.value?.map((agent) => (
          <AgentCard key={agent.id} agent={agent} />
        ))}
      </div>
    </div>
  );
}

function AgentCard({ agent }: { agent: Agent }) {
  const [choices, setChoices] = useState<Choices | null>(null);
  useEffect(() => {
    if (agent.installed) choicesOf(agent.id).then(setChoices, () => undefined);
  }, [agent.id, agent.path, agent.version]);
  const abilities = Object.entries(agent.capabilities);
  const tested = agent.version !== null && agent.version === agent.testedVersion;
  return (
    <article class="card agent" aria-label={agent.title}>
      <header>
        <h2>{agent.title}</h2>
        <code class="muted">{agent.id}</code>
        <span class="spring" />
        <span class={`tag ${agent.stability === "stable" ? "good" : "warn"}`}>{agent.stability}</span>
        <span class={`tag ${agent.installed ? "good" : ""}`}>{agent.installed ? "installed" : "not installed"}</span>
      </header>
      {agent.problem && <p class="problem">{agent.problem}</p>}
      <dl class="facts">
        {agent.version && (
          <div>
            <dt>Version</dt>
            <dd>
              {agent.version} {agent.testedVersion && <span class={`tag ${tested ? "good" : "warn"}`}>{tested ? "tested" : `tested with ${agent.testedVersion}`}</span>}
            </dd>
          </div>
        )}
        {agent.path && (
          <div>
            <dt>Program</dt>
            <dd>
              <code>{agent.path}</code>
            </dd>
          </div>
        )}
        <div>
          <dt>Login</dt>
          <dd>
            {agent.login ?? (agent.credentialsAvailable ? "not needed" : "none found")}
            {agent.installed && !agent.credentialsAvailable && agent.loginCommand && (
              <>
                . Run <code>{agent.loginCommand}</code>
              </>
            )}
          </dd>
        </div>
        {(agent.installed || agent.unknownFrames > 0) && (
          <div>
            <dt>Unknown frames</dt>
            <dd>{agent.unknownFrames ? <UnknownFrames agent={agent} /> : "none since the daemon started"}</dd>
          </div>
        )}
        {choices && (
          <>
            <div>
              <dt>Models</dt>
              <dd>
                {choices.models.models.map((model) => (
                  <span class="tag" key={model.id} title={model.variants?.length ? `Variants: ${model.variants.join(", ")}` : model.id}>
                    {model.name ?? model.id}
                    {model.id === choices.models.defaultModel && !/default/i.test(model.name ?? "") && " (default)"}
                  </span>
                ))}
                {choices.models.openModels && <span class="muted">and others by name</span>}
              </dd>
            </div>
            <Modes title="Modes" modes={choices.modes.modes} />
            <Modes title="Permissions" modes={choices.modes.permissionModes} />
          </>
        )}
      </dl>
      <details>
        <summary>
          {plural(abilities.filter(([, can]) => can).length, "ability").replace(/ys$/, "ies")} of {abilities.length}
        </summary>
        <ul class="abilities">
          {abilities.map(([name, can]) => (
            <li key={name} class={can ? "can" : "cannot"}>
              <Icon name={can ? "check" : "close"} /> {name.replace(/([A-Z])/g, " $1").toLowerCase()}
              {!can && <span class="hidden"> (no)</span>}
            </li>
          ))}
        </ul>
      </details>
      {agent.id !== "mock" && may("admin") && <Install agent={agent} />}
    </article>
  );
}

function Modes({ title, modes }: { title: string; modes: ModesOf["modes"] }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>
        {modes.map((mode) => (
          <span class="tag" key={mode.id} title={mode.description}>
            {mode.name}
          </span>
        ))}
      </dd>
    </div>
  );
}

function Install({ agent }: { agent: Agent }) {
  const [asked, setAsked] = useState(false);
  const { state, error, bytes: fetched = 0, seconds = 0 } = agent.installation;
  const install = async () => {
    setAsked(true);
    // Whatever goes wrong with it is told by the agent's card, in every tab.
    await installAgent(agent).catch(() => undefined);
    setAsked(false);
  };
  if (asked || state === "running") {
    const begun = state === "running";
    return (
      <footer>
        <div class="installation" role="status" aria-label={`Installation of ${agent.title}`}>
          <progress aria-label={`Installing ${agent.title}`} />
          <span>{begun ? `Fetching: ${bytes(fetched)} in ${duration(seconds * 1000)}` : "Starting…"}</span>
        </div>
      </footer>
    );
  }
  return (
    <>
      {state === "failed" && (
        <p class="problem" role="alert">
          It could not be installed. {error}
        </p>
      )}
      <footer>
        <button type="button" class={`button ${agent.installed ? "" : "primary"}`} onClick={install}>
          {state === "failed" ? "Try again" : agent.installed ? "Install the tested version again" : `Install ${agent.title}`}
        </button>
      </footer>
    </>
  );
}
