"""`everyagent token`: prints or replaces the access token."""

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
    """Print the access token, or replace it.

    Parameters
    ----------
    rotate
        Replace the token by a new one. A running daemon refuses the old one at once.
    data_dir
        The data folder. [env: EVERYAGENT_DATA_DIR]
    json
        Print JSON.
    """
    settings = config.load({"data_dir": data_dir})
    if rotate:
        value = config.rotate_token(settings.data_dir)
        say("The token was replaced. A running daemon refuses the old one from now on.")
    else:
        value = config.ensure_token(settings)
    if json:
        print_json({"token": value})
    elif value is None:
        say("There is no token: the setting no-token gives every program on this machine access.")
    else:
        print(value)
