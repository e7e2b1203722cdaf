"""`everyagent token`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from everyagent import config
from everyagent.cli.output import print_json, say


def token(
    *,
    rotate: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    data_dir: Path | None = None,
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> None:
    """Show the token, or make a new one.

    Parameters
    ----------
    rotate
        A new one in place of the old. A running daemon takes it from its next start on.
    data_dir
        The data folder. [env: EVERYAGENT_DATA_DIR]
    json
        Print JSON for programs.
    """
    settings = config.load({"data_dir": data_dir})
    if rotate:
        value = config.rotate_token(settings.data_dir)
        say("The old token is gone. Restart a running daemon so that it takes the new one.")
    else:
        value = config.ensure_token(settings)
    if json:
        print_json({"token": value})
    elif value is None:
        say("The settings say no-token: the daemon takes every program on this machine.")
    else:
        print(value)
