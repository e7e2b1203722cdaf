"""Agents of the user's own: finds those that `config.toml` gains while the daemon runs. Used by `daemon.py`."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path

from anyio.abc import TaskGroup

from everyagent.agents.adapter import Adapter
from everyagent.agents.registry import own_adapters
from everyagent.config import ConfigError, Settings, config_file, own_agents
from everyagent.logs import get_logger
from everyagent.model.agents import OwnAgent
from everyagent.runtime.reaper import Reaper

logger = get_logger(__name__)


class OwnAgents:
    """`known` are the names of other agents. Raises `ConfigError` for an agent that has one of them."""

    def __init__(self, settings: Settings, known: Collection[str], tasks: TaskGroup, reaper: Reaper) -> None:
        self._known = known
        self._open = partial(own_adapters, tasks=tasks, folder=settings.data_dir / "agents", reaper=reaper)
        self._changed = _changed(config_file())
        self._given: dict[str, OwnAgent] = self._checked(settings.agents)

    def added(self) -> Sequence[Adapter]:
        """The adapters of agents that were not returned before. A file that cannot be read adds none."""
        changed = _changed(config_file())
        if changed != self._changed:
            self._changed = changed
            try:
                self._given.update(self._checked(own_agents()))
            except ConfigError as problem:
                logger.error("the agents in config.toml were not read again", error=str(problem))
        given, self._given = self._given, {}
        return self._open(given) if given else ()

    def _checked(self, given: Mapping[str, OwnAgent]) -> dict[str, OwnAgent]:
        taken = [name for name in given if name in self._known]
        if taken:
            raise ConfigError(f"[agents.{taken[0]}] in {config_file()} has the name of a known agent. Choose another.")
        return dict(given)


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
