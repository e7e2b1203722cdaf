import { identity, identityProblem, loadIdentity, may } from "../state/identity";
import { connection } from "../state/live";
import { overlay } from "../state/shown";
import { dismiss, notices } from "../state/notices";
import { route } from "../state/route";
import { Icon } from "../parts/Icon";
import { AgentsView } from "./AgentsView";
import { AuditView } from "./AuditView";
import { Banner } from "./Banner";
import { CompareView } from "./CompareView";
import { Help } from "./Help";
import { Home } from "./Home";
import { Inbox } from "./Inbox";
import { KeysView } from "./KeysView";
import { NewSession } from "./NewSession";
import { SessionView } from "./SessionView";
import { SignIn } from "./SignIn";
import { Sidebar } from "./Sidebar";
import { UsageView } from "./UsageView";
import { WebhooksView } from "./WebhooksView";

export function App() {
  const here = route.value;
  if (connection.value.state === "refused") return <SignIn />;
  if (!identity.value) return <Unknown />;
  return (
    <div class={`app view-${here.view}`}>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
        Skip to content
      </a>
      <Banner />
      <Sidebar />
      <div class="notices" role="status">
        {notices.value.map((notice) => (
          <div class={`notice ${notice.kind}`} key={notice.id}>
            <span>{notice.text}</span>
            <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(notice.id)}>
              <Icon name="close" />
            </button>
          </div>
        ))}
      </div>
      <main id="main" tabIndex={-1}>
        {here.view === "session" && <SessionView key={here.id} id={here.id} tab={here.tab} at={here.at} />}
        {here.view === "compare" && <CompareView key={here.ids.join(" ")} ids={here.ids} />}
        {here.view === "inbox" && <Inbox />}
        {here.view === "agents" && <AgentsView />}
        {here.view === "usage" && <UsageView />}
        {here.view === "home" && <Home />}
        {here.view === "keys" && (may("admin") ? <KeysView /> : <NotAllowed />)}
        {here.view === "webhooks" && (may("admin") ? <WebhooksView /> : <NotAllowed />)}
        {here.view === "audit" && (may("admin") ? <AuditView /> : <NotAllowed />)}
      </main>
      {overlay.value === "new" && may("run") && <NewSession />}
      {overlay.value === "help" && <Help />}
    </div>
  );
}

/** Until the daemon has said whose key this is. */
function Unknown() {
  return (
    <div class="app">
      <Banner />
      <main class="empty" aria-busy={!identityProblem.value}>
        {identityProblem.value && connection.value.state === "open" && (
          <>
            <p role="alert">{identityProblem.value}</p>
            <button type="button" class="button" onClick={loadIdentity}>
              Try again
            </button>
          </>
        )}
      </main>
    </div>
  );
}

function NotAllowed() {
  return (
    <div class="empty">
      <h1>Your key may not do this</h1>
      <p>Keys, webhooks and the audit trail need a key with the scope admin.</p>
    </div>
  );
}
