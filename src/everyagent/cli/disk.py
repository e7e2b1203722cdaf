"""`everyagent disk`: what takes up space in the data folder."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich import filesize

from everyagent import config
from everyagent.agents.packages import size
from everyagent.cli.output import print_json, print_table

#: What is in the data folder, by the beginning of its name.
_PARTS = {
    "everyagent.db": "sessions and events",
    "blobs": "large events, and files",
    "uploads": "files that are being uploaded",
    "scratch": "configuration of running sessions",
    "checkpoints": "files of sessions, for a rewind",
    "worktrees": "git worktrees of sessions",
    "agents": "installed agents",
}


def disk(
    *, data_dir: Path | None = None, json: Annotated[bool, Parameter(negative=(), show_default=False)] = False
) -> None:
    """Show what takes up space in the data folder. `sessions delete` makes room in the log.

    Parameters
    ----------
    data_dir
        The data folder. [env: EVERYAGENT_DATA_DIR]
    json
        Print JSON.
    """
    folder = config.load({"data_dir": data_dir}).data_dir
    found = dict.fromkeys([*_PARTS, "other"], 0)
    for path in folder.iterdir() if folder.is_dir() else ():
        part = next((part for part in _PARTS if path.name.startswith(part)), "other")
        found[part] += size(path) if path.is_dir() else path.lstat().st_size
    if json:
        print_json(found)
        return
    rows = [(part, filesize.decimal(found[part]), _PARTS.get(part, "")) for part in found if found[part]]
    print_table(("PART", "SIZE", "CONTENT"), [*rows, ("all", filesize.decimal(sum(found.values())), str(folder))])
