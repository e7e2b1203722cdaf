/** Webhooks and their deliveries, for those who may manage them. */
import { signal } from "@preact/signals";
import { call, get, post } from "../api/client";
import type { Delivery, Webhook } from "../api/types";

export const webhooks = signal<Webhook[] | null>(null);

export async function loadWebhooks(): Promise<void> {
  webhooks.value = (await get<{ webhooks: Webhook[] }>("v1/webhooks")).webhooks;
}

export async function deliveriesOf(id: string): Promise<Delivery[]> {
  return (await get<{ deliveries: Delivery[] }>(`${path(id)}/deliveries`)).deliveries;
}

export function testWebhook(id: string): Promise<Delivery> {
  return post<Delivery>(`${path(id)}/test`);
}

/** Delivers again everything after the cursor; without one, continues a paused webhook where it stopped. */
export async function replayWebhook(id: string, after?: string): Promise<void> {
  take(await post<Webhook>(`${path(id)}/replay`, after === undefined ? {} : { after }));
}

export async function pauseWebhook(id: string): Promise<void> {
  take((await (await call("PATCH", path(id), undefined, { paused: true })).json()) as Webhook);
}

export async function removeWebhook(id: string): Promise<void> {
  await call("DELETE", path(id));
  webhooks.value = webhooks.value?.filter((each) => each.webhookId !== id) ?? null;
}

export function stateOf(webhook: Webhook): "active" | "failing" | "paused" {
  if (webhook.pausedAt) return "paused";
  return webhook.failingSince ? "failing" : "active";
}

function take(changed: Webhook): void {
  webhooks.value = webhooks.value?.map((each) => (each.webhookId === changed.webhookId ? changed : each)) ?? null;
}

function path(id: string): string {
  return `v1/webhooks/${encodeURIComponent(id)}`;
}
