/** Where one signs in: with the owner's token, or with an API key. Also says why one is no longer signed in. */
import { useState } from "preact/hooks";
import { token } from "../api/token";
import type { Identity } from "../api/types";
import { identity, signIn } from "../state/identity";
import { connection } from "../state/live";

export function SignIn() {
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
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
        <p>
          Open the link that <code>everyagent serve</code> printed, or sign in with the owner’s token (<code>everyagent token</code> prints it) or an API key:
        </p>
        <label>
          Token or key
          <input type="password" autoComplete="off" autoFocus required value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
        <button type="submit" class="button primary wide" disabled={busy}>
          Sign in
        </button>
      </form>
    </main>
  );
}

/** Null for somebody who has not tried to sign in. */
function reason(): string | null {
  const now = connection.value;
  if (now.state !== "refused") return null;
  if (now.status !== 401) return now.detail;
  if (identity.value) return `You are signed out: ${ended(identity.value)}`;
  return token() === null ? null : "The key of this browser is wrong, revoked or expired.";
}

function ended({ name, expiresAt, keyId }: Identity): string {
  if (keyId === "owner") return "the owner’s token was replaced.";
  return `the key “${name}” ${expiresAt && expiresAt <= Date.now() ? "has expired." : "was revoked."}`;
}
