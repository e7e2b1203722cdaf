/** Agents, and what can be chosen of each; asked once and kept. */
import { signal } from "@preact/signals";
import { get } from "../api/client";
import type { Agent, Models, Modes } from "../api/types";

export interface Choices {
  models: Models;
  modes: Modes;
}

export const agents = signal<Agent[] | null>(null);
const choices = new Map<string, Promise<Choices>>();

export async function loadAgents(): Promise<void> {
  agents.value = (await get<{ agents: Agent[] }>("v1/agents")).agents;
}

export function agentNamed(id: string): Agent | undefined {
  return agents.value?.find((agent) => agent.id === id);
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

export function forgetChoices(agent: string): void {
  choices.delete(agent);
}
