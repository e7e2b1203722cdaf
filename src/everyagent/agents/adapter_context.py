"""The dependencies of an adapter: tasks, folders, environment, process reaper."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from everyagent.agents.supervision import TaskSupervisor
from everyagent.runtime.reaper import Reaper


class AdapterContext(NamedTuple):
    """Conversations run as tasks of `tasks`. Agents are installed in `folder`. `environment` is the daemon's own.

    Without a `reaper`, an adapter makes one and closes it itself.
    """

    tasks: TaskSupervisor
    folder: Path
    environment: Mapping[str, str] = os.environ
    reaper: Reaper | None = None
