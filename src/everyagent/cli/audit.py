"""`everyagent audit`: shows who did what, and checks that the record of it is whole."""

from typing import Annotated

import anyio
from cyclopts import App, Parameter
from cyclopts.validators import Number

from everyagent.cli.daemon_connection import connect
from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.exit_codes import EPILOGUE, CliFailure, ExitCode
from everyagent.cli.output import one_line, print_json, print_table, say
from everyagent.model.keys import AuditItem, AuditList, AuditState

app = App(name="audit", help="Show who did what, and check the record of it.", help_epilogue=EPILOGUE)


@app.default
def audit(
    *,
    session: str | None = None,
    key: str | None = None,
    limit: Annotated[int, Parameter(name=["--limit", "-n"], validator=Number(gte=1))] = 100,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """Show who did what, newest first.

    Parameters
    ----------
    session
        Only what concerns this session.
    key
        Only what was done with this key.
    limit
        The maximum number of entries.
    """

    async def listed() -> AuditList:
        async with connect(options) as connection:
            return await connection.client.audit(session_id=session, key_id=key, limit=limit)

    entries = anyio.run(listed, backend_options={"use_uvloop": True}).entries
    if options.json:
        print_json(entries)
        return
    columns = ("ENTRY", "TIME", "KEY", "WORKSPACE", "OPERATION", "SESSION", "SUBJECT", "OUTCOME")
    print_table(columns, [_row(entry) for entry in entries])


@app.command
def verify(*, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """Check that no entry was changed, removed or reordered. Exits with 1 if one was."""

    async def checked() -> AuditState:
        async with connect(options) as connection:
            return await connection.client.verify_audit()

    state = anyio.run(checked, backend_options={"use_uvloop": True})
    if options.json:
        print_json(state)
    if not state.valid:
        raise CliFailure(f"The audit trail is not as it was written: {state.problem}.", ExitCode.FAILED)
    if not options.json:
        say(f"All {state.entries} entries are as they were written. Digest of the last: {state.digest}")


def _row(entry: AuditItem) -> tuple[str, ...]:
    return (
        str(entry.number),
        entry.time[:19],
        one_line(entry.name, 30),
        entry.workspace,
        entry.operation,
        one_line(entry.session_id or "", 40),
        one_line(entry.subject or "", 40),
        entry.outcome,
    )
