"""Sessions of an agent of the user's own: the fake one in `fake_acp.py`, behind a real daemon."""

import os
import signal
import sys
from pathlib import Path

import msgspec
from tests.agents.stage import Stage

from everyagent.model.events import TurnEnded
from everyagent.testing.daemon import DaemonProcess

FAKE = Path(__file__).with_name("fake_acp.py")
CHECKED = FAKE.with_name("checked_acp.py")
#: Agents that do not load a session, each in another way.
UNABLE = ("forgetful", "lost", "garbled", "dying")


def own_agent(*words: str, **fields: object) -> dict[str, object]:
    return {"command": [sys.executable, str(FAKE), *words], **fields}


def checked_agent(word: str) -> dict[str, object]:
    """Behind a wall, the files that its command names are there."""
    return {"command": [sys.executable, str(CHECKED), word, str(FAKE)], "asks-for": ["bash"]}


def toml(agents: dict[str, dict[str, object]]) -> str:
    """Tables of `config.toml`; JSON's lists and strings are TOML's, too."""
    return "\n".join(
        f"[agents.{name}]\n" + "".join(f"{key} = {_value(value)}\n" for key, value in fields.items())
        for name, fields in agents.items()
    )


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_value(each)}" for key, each in value.items()) + "}"
    return msgspec.json.encode(value).decode()


class NoScript:
    def release_all(self) -> None: ...


class NoModel:
    """The fake agent needs none."""

    script = NoScript()


class OwnSession(Stage[NoModel]):
    agent = "mine"

    def __init__(self, daemon: DaemonProcess, folder: Path) -> None:
        super().__init__(daemon, NoModel(), folder)
        self.kept = self.workspace / ".sessions.json"

    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.home), "FAKE_ACP_SESSIONS": str(self.kept)}

    def said(self, text: str) -> str:
        """Send a message; the agent's last words after it."""
        assert self.turn(text).stop_reason == "end_turn"
        return self.replies()[-1]

    def killed(self) -> None:
        """Kill the agent of an idle session, and wait until the daemon has noticed."""
        for pid in self.processes("fake_acp"):
            os.kill(pid, signal.SIGKILL)
        self.until(lambda: self.info()["status"] == "hibernated" or None)

    def failed(self, text: str = "say hi") -> TurnEnded:
        ended = self.turn(text)
        assert ended.stop_reason == "error"
        return ended
