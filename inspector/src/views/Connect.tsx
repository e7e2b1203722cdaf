/** When the daemon does not take our token: how to get in. */
import { useState } from "preact/hooks";
import { keepToken, token } from "../api/token";
import { restart } from "../state/live";

export function Connect() {
  const [typed, setTyped] = useState("");
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    keepToken(typed.trim());
    restart();
  };
  return (
    <main class="connect">
      <form class="card" onSubmit={submit}>
        <h1>everyagent</h1>
        <p>
          {token() ? "The daemon does not take the token this browser has." : "This daemon wants its token."} Open the link that{" "}
          <code>everyagent serve</code> printed, or paste what <code>everyagent token</code> prints:
        </p>
        <label>
          Token
          <input type="password" autoComplete="off" autoFocus required value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
        <button type="submit" class="button primary wide">
          Connect
        </button>
      </form>
    </main>
  );
}
