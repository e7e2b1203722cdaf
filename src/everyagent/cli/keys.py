"""`everyagent keys`: makes, lists and revokes API keys."""

import re
import time
from datetime import datetime
from typing import Annotated

import anyio
from cyclopts import App, Parameter

from everyagent.cli.daemon_connection import connect
from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.exit_codes import EPILOGUE, CliFailure, ExitCode
from everyagent.cli.output import print_json, print_table, say
from everyagent.clock import rfc3339
from everyagent.model.keys import KeyInfo, NewKey
from everyagent.model.principals import Scope

app = App(name="keys", help="Make, list and revoke API keys.", help_epilogue=EPILOGUE)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@app.command
def create(
    name: str,
    /,
    *,
    scope: Annotated[list[Scope], Parameter(negative=())] = ["read"],  # noqa: B006 - cyclopts copies it
    workspace: str | None = None,
    expires: str | None = None,
    rate: int | None = None,
    budget: float | None = None,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """Make an API key and print its secret, which is not shown again.

    Parameters
    ----------
    name
        A name for people.
    scope
        What the key may do; repeat it for more: read, run, answer, admin.
    workspace
        The workspace of the key. [default: default]
    expires
        When the key ends: a time from now like 12h or 30d, or a date like 2030-01-31.
    rate
        The number of requests per minute.
    budget
        The cost in USD of all turns that the key may begin.
    """
    expires_at = None if expires is None else _millis(expires)

    async def made() -> NewKey:
        async with connect(options) as connection:
            return await connection.client.create_key(
                name, scope, workspace=workspace, expires_at=expires_at, rate=rate, budget_usd=budget
            )

    new = anyio.run(made, backend_options={"use_uvloop": True})
    if options.json:
        print_json(new)
        return
    say(f"Made the key {new.key.key_id} in the workspace {new.key.workspace}. Its secret is not shown again:")
    print(new.secret)


@app.command(name="list")
def list_keys(*, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """List API keys, newest first."""

    async def listed() -> list[KeyInfo]:
        async with connect(options) as connection:
            return await connection.client.keys()

    keys = anyio.run(listed, backend_options={"use_uvloop": True})
    if options.json:
        print_json(keys)
        return
    columns = ("KEY", "NAME", "WORKSPACE", "SCOPES", "EXPIRES", "RATE", "BUDGET", "STATE")
    print_table(columns, [_row(key) for key in keys])


@app.command
def revoke(key_id: str, /, *, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """Refuse an API key from now on. Its open streams end.

    Parameters
    ----------
    key_id
        The id of the key, as `keys list` shows it.
    """

    async def revoked() -> KeyInfo:
        async with connect(options) as connection:
            return await connection.client.revoke_key(key_id)

    key = anyio.run(revoked, backend_options={"use_uvloop": True})
    if options.json:
        print_json(key)
    else:
        say(f"Revoked {key.key_id} ({key.name}).")


def _row(key: KeyInfo) -> tuple[str, ...]:
    expired = key.expires_at is not None and key.expires_at <= time.time() * 1000
    budget = "" if key.budget_usd is None else f"{key.spent_usd:.2f} of {key.budget_usd:.2f} USD"
    return (
        key.key_id,
        key.name,
        key.workspace,
        " ".join(key.scopes),
        "" if key.expires_at is None else rfc3339(key.expires_at * 1000)[:16],
        "" if key.rate is None else f"{key.rate}/min",
        budget,
        "revoked" if key.revoked_at is not None else "expired" if expired else "valid",
    )


def _millis(text: str) -> int:
    """The time of an expiry, in milliseconds."""
    if span := re.fullmatch(r"(\d{1,9})([smhd])", text):
        return int((time.time() + int(span[1]) * _UNITS[span[2]]) * 1000)
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        raise CliFailure(
            f"{text!r} is no expiry. Write a time from now like 12h or 30d, or a date like 2030-01-31.", ExitCode.USAGE
        ) from None
