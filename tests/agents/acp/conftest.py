from collections.abc import Generator
from pathlib import Path

import pytest
from own_session import UNABLE, OwnSession, checked_agent, own_agent, toml
from tests.agents.stage import daemon_of

from everyagent.testing.daemon import DaemonProcess


@pytest.fixture(scope="session")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A `config.toml` with agents of the user's own."""
    path = tmp_path_factory.mktemp("config") / "config.toml"
    agents: dict[str, dict[str, object]] = {
        "mine": own_agent(title="My agent", modes={"default": "ask", "bypass": "yolo"}),
        "asking": own_agent(modes={"default": "ask", "bypass": "yolo"}, **{"asks-for": ["bash", "write"]}),
        **{word: checked_agent(word) for word in ("obedient", "defiant")},
        "shared": own_agent(modes={"default": "ask", "acceptEdits": "ask", "bypass": "yolo"}),
        "newer": own_agent("version", "2"),
        "choosy": own_agent("choosy"),
        "locked": own_agent("locked"),
        "keyed": own_agent("keyed", **{"auth-method": "api-key"}),
        **{word: own_agent(word) for word in UNABLE},
        "expired": own_agent("expired"),
        "gone": {"command": ["no-such-program"]},
    }
    path.write_text(toml(agents))
    return path


@pytest.fixture(scope="session")
def own_daemon(config: Path, tmp_path_factory: pytest.TempPathFactory) -> Generator[DaemonProcess]:
    folder = tmp_path_factory.mktemp("own")
    with daemon_of(folder, "--idle-timeout", "3600", EVERYAGENT_CONFIG=str(config), HOME=str(folder)) as running:
        yield running


@pytest.fixture
def session(own_daemon: DaemonProcess, tmp_path: Path) -> Generator[OwnSession]:
    """A session of the fake agent that the test creates."""
    with OwnSession(own_daemon, tmp_path).played() as staged:
        yield staged
