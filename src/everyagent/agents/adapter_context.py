"""What an adapter of a program is made with."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from everyagent.agents.supervision import TaskSupervisor
from everyagent.runtime.reaper import Reaper


class AdapterContext(NamedTuple):
    """Conversations run as tasks of `tasks`. `folder` is where agents are installed.

    `environment` is the daemon's own. Without a `reaper` an adapter brings its own, and closes it.
    """

    tasks: TaskSupervisor
    folder: Path
    environment: Mapping[str, str] = os.environ
    reaper: Reaper | None = None
