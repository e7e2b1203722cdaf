"""`everyagent runners`: lists the runners of a daemon."""

import anyio

from everyagent.cli.daemon_connection import connect
from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.output import one_line, print_json, print_table, say
from everyagent.clock import rfc3339
from everyagent.model.runners import RunnerInfo


def runners(*, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """List the runners that are connected, or were since the daemon started."""

    async def asked() -> list[RunnerInfo]:
        async with connect(options) as connection:
            return await connection.client.runners()

    found = anyio.run(asked, backend_options={"use_uvloop": True})
    if options.json:
        print_json(found)
    elif not found:
        say("No runner has connected since the daemon started. Make a key with `everyagent runner keys create NAME`.")
    else:
        rows = [
            (
                runner.name,
                "connected" if runner.connected else f"away since {rfc3339(runner.seen_at * 1000)[:19]}",
                one_line(runner.version),
                one_line(" ".join(f"{name}={value}" for name, value in runner.labels.items())),
                one_line(" ".join(runner.agents)),
                str(runner.sessions),
            )
            for runner in found
        ]
        print_table(("RUNNER", "STATE", "VERSION", "LABELS", "AGENTS", "SESSIONS"), rows)
