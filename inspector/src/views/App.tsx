import { connection } from "../state/live";
import { overlay } from "../state/shown";
import { dismiss, notices } from "../state/notices";
import { route } from "../state/route";
import { Icon } from "../parts/Icon";
import { AgentsView } from "./AgentsView";
import { Banner } from "./Banner";
import { Connect } from "./Connect";
import { Help } from "./Help";
import { Home } from "./Home";
import { Inbox } from "./Inbox";
import { NewSession } from "./NewSession";
import { SessionView } from "./SessionView";
import { Sidebar } from "./Sidebar";

export function App() {
  const here = route.value;
  if (connection.value.state === "refused") return <Connect />;
  return (
    <div class={`app view-${here.view}`}>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
        Skip to content
      </a>
      <Banner />
      <Sidebar />
      <main id="main" tabIndex={-1}>
        {here.view === "session" && <SessionView key={here.id} id={here.id} tab={here.tab} at={here.at} />}
        {here.view === "inbox" && <Inbox />}
        {here.view === "agents" && <AgentsView />}
        {here.view === "home" && <Home />}
      </main>
      {overlay.value === "new" && <NewSession />}
      {overlay.value === "help" && <Help />}
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
    </div>
  );
}
