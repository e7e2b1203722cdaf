/** Where one signs in: with a provider, the owner's token, or an API key. Also says why one is no longer signed in. */
import { useEffect, useState } from "preact/hooks";
import { dropToken, token } from "../api/token";
import type { Identity } from "../api/types";
import { identity, providerName, signIn } from "../state/identity";
import { connection } from "../state/live";

export function SignIn() {
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(takeProblem);
  const [provider, setProvider] = useState<string | null>(null);
  useEffect(() => void providerName().then(setProvider, () => undefined), []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await signIn(typed.trim());
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  const why = problem ?? reason();
  return (
    <main class="sign-in">
      <form class="card" onSubmit={submit}>
        <h1>everyagent</h1>
        {why && (
          <p class="problem" role="alert">
            {why}
          </p>
        )}
        {provider && (
          <a class="button primary wide" href="oidc" onClick={dropToken}>
            Sign in with {provider}
          </a>
        )}
        <p>
          Open the link that <code>everyagent serve</code> printed, or sign in with the owner’s token (<code>everyagent token</code> prints it) or an API key:
        </p>
        <label>
          Token or key
          <input type="password" autoComplete="off" autoFocus required value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
        <button type="submit" class={`button wide ${provider ? "" : "primary"}`} disabled={busy}>
          Sign in
        </button>
      </form>
    </main>
  );
}

const PROBLEMS: Record<string, string> = {
  unavailable: "This daemon has no provider to sign in with.",
  expired: "The sign-in took too long, or began in another browser. Try again.",
  refused: "The provider did not sign you in.",
  provider: "The sign-in failed. The log of the daemon says why.",
  denied: "You are known to the provider, but may not use this daemon. Ask the person who runs it.",
};

/** The problem of a sign-in with a provider, which comes in the address and is taken out of it. */
function takeProblem(): string | null {
  const code = new URLSearchParams(location.search).get("problem");
  if (code !== null) history.replaceState(null, "", location.pathname + location.hash);
  return PROBLEMS[code ?? ""] ?? null;
}

/** Null for somebody who has not tried to sign in. */
function reason(): string | null {
  const now = connection.value;
  if (now.state !== "refused") return null;
  if (now.status !== 401) return now.detail;
  if (identity.value) return `You are signed out: ${ended(identity.value)}`;
  return token() === null ? null : "The key of this browser is wrong, revoked or expired.";
}

function ended({ name, expiresAt, keyId, signIn }: Identity): string {
  if (signIn) return "your sign-in has ended.";
  if (keyId === "owner") return "the owner’s token was replaced.";
  return `the key “${name}” ${expiresAt && expiresAt <= Date.now() ? "has expired." : "was revoked."}`;
}
