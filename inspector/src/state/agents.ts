/** Agents, and what can be chosen of each; asked once and kept. */
import { batch, signal } from "@preact/signals";
import { get, post } from "../api/client";
import type { Agent, AgentList, Models, Modes } from "../api/types";

export interface Choices {
  models: Models;
  modes: Modes;
}

export const agents = signal<Agent[] | null>(null);
/** The agent of sessions that name none. */
export const defaultAgent = signal("");
const QUIET_MS = 2000;
const INSTALLING_MS = 500;
const choices = new Map<string, Promise<Choices>>();

export async function loadAgents(): Promise<void> {
  const { agents: found, defaultAgent: usual } = await get<AgentList>("v1/agents");
  for (const agent of found) {
    const before = agentNamed(agent.id);
    if (before && (before.path !== agent.path || before.version !== agent.version)) choices.delete(agent.id);
  }
  batch(() => {
    agents.value = found;
    defaultAgent.value = usual;
  });
}

/** Looks at them again and again, whoever changes them: another tab, a terminal. Returns how to stop. */
export function watchAgents(): () => void {
  let stopped = false;
  const look = async () => {
    await loadAgents().catch(() => undefined);
    const installing = agents.value?.some((agent) => agent.installation.state === "running");
    if (!stopped) setTimeout(look, installing ? INSTALLING_MS : QUIET_MS);
  };
  void look();
  return () => void (stopped = true);
}

/** Carried out when it is there, or failed. */
export async function installAgent(agent: Agent): Promise<void> {
  try {
    await post(`v1/agents/${encodeURIComponent(agent.id)}/install`, { reinstall: agent.installed });
  } finally {
    await loadAgents().catch(() => undefined);
  }
}

export function agentNamed(id: string): Agent | undefined {
  return agents.value?.find((agent) => agent.id === id);
}

/** The permission modes to choose from, with the one that is `chosen`. */
export function offered(modes: Modes, chosen: string): Modes["permissionModes"] {
  return modes.permissionModes.filter((mode) => !mode.sameAs || mode.id === chosen);
}

/** What people call a model. */
export function nameOf(models: Models, id: string | null | undefined): string | null {
  return models.models.find((model) => model.id === id)?.name ?? id ?? null;
}

export function choicesOf(agent: string): Promise<Choices> {
  let asked = choices.get(agent);
  if (!asked) {
    const of = `v1/agents/${encodeURIComponent(agent)}`;
    asked = Promise.all([get<Models>(`${of}/models`), get<Modes>(`${of}/modes`)]).then(([models, modes]) => ({ models, modes }));
    asked.catch(() => choices.delete(agent));
    choices.set(agent, asked);
  }
  return asked;
}
