"""The real Codex behind a real daemon, talking to a scripted model: no key, no traffic but on loopback."""

from pathlib import Path

from tests.agents.stage import Stage, tested_binary
from tests.scripted.responses_server import ResponsesServer

from everyagent.agents.codex import program
from everyagent.model.events import Error
from everyagent.model.items import Item
from everyagent.testing.daemon import DaemonProcess

#: Nothing but the scripted model is ever connected to.
CONFIG = """\
model = "gpt-5.5"
model_provider = "scripted"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
web_search = "{web_search}"
{top}
[features]
plugins = false
apps = false
unbounded_connection_retries = false
default_mode_request_user_input = true
[tools.update_plan]
enabled = true
[analytics]
enabled = false
[feedback]
enabled = false
[model_providers.scripted]
name = "Scripted"
base_url = "{url}"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 1
stream_max_retries = 2
stream_idle_timeout_ms = 20000
"""


def codex_binary() -> str:
    return tested_binary("codex", program.BINARY_VARIABLE, program.pinned(), program.TESTED_VERSION)


class CodexSession(Stage[ResponsesServer]):
    """Sessions with one `folder` have one home, so one app-server."""

    agent = "codex"

    def __init__(self, daemon: DaemonProcess, model: ResponsesServer, folder: Path) -> None:
        super().__init__(daemon, model, folder)
        self.configure()

    def configure(self, top: str = "", *, web_search: str = "disabled", url: str | None = None) -> None:
        config = CONFIG.format(url=url or self.model.url, top=top, web_search=web_search)
        (self.home / "config.toml").write_text(config)

    def another(self) -> "CodexSession":
        """A second session on the same app-server."""
        return CodexSession(self.daemon, self.model, self.home.parent)

    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.home), "CODEX_HOME": str(self.home), "SCRIPTED_KEY": "sk-not-a-key"}

    def errors(self) -> list[Error]:
        return self.all(Error)

    def statuses(self, name: str) -> list[Item]:
        return [item for item in self.items("status") if item.name == name]

    def app_server(self) -> int:
        """The process whose home is this session's."""
        (found,) = self.processes("app-server")
        return found
