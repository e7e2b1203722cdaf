"""Interrupts of a sub-agent by its thread id."""

import os
import uuid
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from everyagent.testing.daemon import DaemonProcess
from tests.agents.stage import daemon_of
from tests.managed.conftest import rebuilt
from tests.managed.raw import ASKING, TOOLSET, Event, Raw, required, texts
from tests.managed.real_model import RealModel
from tests.managed.real_models import real_model
from tests.managed.test_managed_on_real_agents import SURROUNDINGS, of
from tests.waiting import wait_until


def runs(word: str) -> bool:
    """Whether a process has this argument."""
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if word.encode() in Path("/proc", pid, "cmdline").read_bytes().split(b"\0"):
                return True
        except OSError:
            continue
    return False


def allow_all_but_commands(raw: Raw) -> list[str]:
    """Allow all pending calls but the sub-agent's command, and return the names of the pending ones."""
    events = raw.events()
    last = [event for event in events if str(event["type"]).startswith("session.status_")][-1]
    if last["type"] != "session.status_idle" or "event_ids" not in str(last["stop_reason"]):
        return []
    uses = {str(use["id"]): str(use["name"]) for use in of(events, "agent.tool_use")}
    waiting = [each for each in required(last) if each in uses]
    for each in waiting:
        if uses[each] != "bash":
            raw.send({"type": "user.tool_confirmation", "tool_use_id": each, "result": "allow"})
    return [uses[each] for each in waiting]


def has_ended(raw: Raw) -> bool:
    allow_all_but_commands(raw)
    idle = of(raw.events(), "session.status_idle")
    return raw.status() == "idle" and bool(idle) and "end_turn" in str(idle[-1]["stop_reason"])


def on_thread(raw: Raw, thread: str) -> list[Event]:
    return cast("list[Event]", raw.call("GET", f"{raw.path}/threads/{thread}/events")["data"])


@pytest.mark.parametrize("agent", ["claude", "codex", "opencode"])
def test_an_interrupted_sub_agent_stops_and_its_agent_continues(agent: str, tmp_path: Path) -> None:
    """A sub-agent that runs a command, and one that waits for a confirmation."""
    for folder in ("home", "daemon", "agent"):
        (tmp_path / folder).mkdir()
    around = SURROUNDINGS[agent](tmp_path / "home")
    with daemon_of(tmp_path / "daemon", **around) as daemon:
        with real_model(agent, daemon, tmp_path / "agent") as scene:
            own = uuid.uuid4().hex  # folders of other workers have the same names
            is_stopped(daemon, scene, TOOLSET, f"{own} watched")
            is_stopped(daemon, scene, ASKING, f"{own} watched by nobody")
        daemon.stop()
        assert rebuilt(daemon)


def is_stopped(daemon: DaemonProcess, scene: RealModel, toolset: Mapping[str, object], watched: str) -> None:
    scene.wait_for_helper(f"touch '{watched}'; tail -f '{watched}'", when="Ask a helper")
    scene.say("I go on without.")
    with closing(Raw(daemon)) as raw:
        vaults, model = [raw.vault(scene.environment)], scene.helpers or scene.model
        raw.create(toolset, agent=scene.agent, model=model, vault_ids=vaults)
        raw.say("Ask a helper")
        if toolset is ASKING:
            wait_until(lambda: "bash" in allow_all_but_commands(raw))
        else:
            wait_until(lambda: runs(watched) and of(raw.events(), "session.thread_created"))
        (created,) = of(raw.events(), "session.thread_created")
        thread = str(created["session_thread_id"])
        (echo,) = raw.send({"type": "user.interrupt", "session_thread_id": thread})
        assert (echo["type"], echo["session_thread_id"]) == ("user.interrupt", thread)
        wait_until(lambda: has_ended(raw))
        assert "I go on without." in texts(raw.events())
        wait_until(lambda: not runs(watched))
        (idle,) = of(raw.events(), "session.thread_status_idle")
        assert idle["session_thread_id"] == thread
        assert "user.interrupt" in [event["type"] for event in on_thread(raw, thread)]
