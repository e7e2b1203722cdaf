/** API keys and the audit trail, for those who may manage keys. */
import { signal } from "@preact/signals";
import { call, get, post } from "../api/client";
import type { AuditEntry, AuditState, CreateKey, Key, NewKey } from "../api/types";

export const keys = signal<Key[] | null>(null);

export async function loadKeys(): Promise<void> {
  keys.value = (await get<{ keys: Key[] }>("v1/keys")).keys;
}

/** The only answer that has the secret. */
export async function createKey(asked: CreateKey): Promise<NewKey> {
  const made = await post<NewKey>("v1/keys", asked);
  keys.value = [made.key, ...(keys.value ?? [])];
  return made;
}

export async function revokeKey(id: string): Promise<void> {
  const revoked = (await (await call("DELETE", `v1/keys/${encodeURIComponent(id)}`)).json()) as Key;
  keys.value = keys.value?.map((key) => (key.keyId === id ? revoked : key)) ?? null;
}

export function stateOf(key: Key, now: number): "valid" | "revoked" | "expired" {
  if (key.revokedAt) return "revoked";
  return key.expiresAt && key.expiresAt <= now ? "expired" : "valid";
}

export interface AuditFilter {
  keyId: string;
  sessionId: string;
}

export interface AuditPage {
  entries: AuditEntry[];
  nextPage: string | null;
}

const PAGE = 100;

export function auditPage({ keyId, sessionId }: AuditFilter, page: string | null): Promise<AuditPage> {
  return get<AuditPage>("v1/audit", { limit: PAGE, keyId: keyId || undefined, sessionId: sessionId || undefined, page: page ?? undefined });
}

export function verifyAudit(): Promise<AuditState> {
  return get<AuditState>("v1/audit/verify");
}
