"""What an adapter of a program is made with."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from anyio.abc import TaskGroup

from everyagent.runtime.warden import Warden


class Surroundings(NamedTuple):
    """Conversations run as tasks of `nursery`. `folder` is where agents are installed.

    `environment` is the daemon's own. Without a `warden` an adapter brings its own, and closes it.
    """

    nursery: TaskGroup
    folder: Path
    environment: Mapping[str, str] = os.environ
    warden: Warden | None = None
