import { agents } from "../state/agents";
import { may } from "../state/identity";
import { loaded, sessions } from "../state/sessions";
import { overlay } from "../state/shown";
import { href } from "../state/route";

export function Home() {
  const some = sessions.value.size > 0;
  const installed = agents.value?.filter((agent) => agent.installed) ?? [];
  const ready = installed.filter((agent) => agent.credentialsAvailable);
  const loggedOut = installed.filter((agent) => !agent.credentialsAvailable);
  if (!loaded.value) return <div class="empty" aria-busy="true" />;
  return (
    <div class="empty">
      <h1>{some ? "Choose a session" : "No sessions yet"}</h1>
      <p>
        {some
          ? "Every session is on the left, with what it does right now."
          : may("run")
            ? "Start one here, from the command line or through the API: it shows up at once."
            : "A session that somebody starts shows up here at once."}
      </p>
      {may("run") && (
        <p>
          <button type="button" class="button primary" onClick={() => (overlay.value = "new")}>
            New session <kbd>n</kbd>
          </button>
        </p>
      )}
      {!some && may("run") && (
        <p>The mock needs no login, and does what it is told:</p>
      )}
      {!some && may("run") && (
        <pre tabIndex={0}>
          <code>{`everyagent run mock "[reasoning] [ask] [diff]"`}</code>
        </pre>
      )}
      {agents.value && (
        <p class="muted">
          {!installed.length && "No agent is installed. "}
          {ready.length > 0 && `Ready: ${ready.map((agent) => agent.title).join(", ")}. `}
          <a href={href({ view: "agents" })}>Agents</a> · press <kbd>?</kbd> for all keys
        </p>
      )}
      {loggedOut.map((agent) => (
        <p key={agent.id} class="muted">
          Log in: {agent.title}
          {agent.loginCommand && (
            <>
              {" "}with <code>{agent.loginCommand}</code>
            </>
          )}
        </p>
      ))}
    </div>
  );
}
