/** Who is signed in, and what that key may do. Every control asks `may` before it is offered. */
import { signal } from "@preact/signals";
import { call, Failure, get, headers } from "../api/client";
import { dropToken, keepToken } from "../api/token";
import type { Identity, Scope } from "../api/types";

/** Null until the daemon has said who it is. */
export const identity = signal<Identity | null>(null);
/** Why nobody is signed in, where it is known. */
export const identityProblem = signal<string | null>(null);

export function may(scope: Scope): boolean {
  return identity.value?.scopes.includes(scope) ?? false;
}

export async function loadIdentity(): Promise<void> {
  identityProblem.value = null;
  try {
    identity.value = await get<Identity>("v1/me");
  } catch (error) {
    // The stream is refused as well then, and leads to the sign-in.
    if (!(error instanceof Failure && error.status === 401)) identityProblem.value = error instanceof Error ? error.message : String(error);
  }
}

/** Throws a `Failure` if the daemon does not accept the key, or if the key may not read. */
export async function signIn(key: string): Promise<void> {
  const response = await call("GET", "v1/me", undefined, undefined, undefined, headers({}, key));
  const found = (await response.json()) as Identity;
  if (!found.scopes.includes("read")) {
    throw new Failure(403, "scope_missing", `The key “${found.name}” does not have the scope read, which this page needs.`);
  }
  keepToken(key);
  // A new page: nothing of the key before stays in its memory.
  location.reload();
}

export async function signOut(): Promise<void> {
  if (identity.value?.signIn) await call("POST", "ui/oidc/sign-out");
  dropToken();
  location.hash = "";
  location.reload();
}

/** The name of the provider with which one can sign in, or null. */
export async function providerName(): Promise<string | null> {
  return (await get<{ name: string | null }>("ui/oidc/options")).name;
}
