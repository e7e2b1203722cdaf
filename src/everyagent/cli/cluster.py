"""`everyagent cluster`: shows the nodes of a cluster."""

import anyio
from cyclopts import App

from everyagent.cli.daemon_connection import connect
from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.exit_codes import EPILOGUE
from everyagent.cli.output import one_line, print_json, print_table, say
from everyagent.model.responses import ClusterStatus

app = App(name="cluster", help="Show the daemons that share a database.", help_epilogue=EPILOGUE)


@app.command
def status(*, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """List the nodes: what is left of their leases, the sessions that they run, and the commits they are behind."""

    async def asked() -> ClusterStatus:
        async with connect(options) as connection:
            return await connection.client.cluster()

    found = anyio.run(asked, backend_options={"use_uvloop": True})
    if options.json:
        print_json(found)
    elif not found.nodes:
        say("This daemon is in no cluster: it was started without --cluster.")
    else:
        rows = [
            (
                f"{node.node_id}{' (this one)' if node.node_id == found.node_id else ''}",
                one_line(node.name),
                one_line(node.url),
                node.version,
                f"{node.lease_seconds:.1f} s",
                str(node.live_sessions),
                str(node.lag),
            )
            for node in found.nodes
        ]
        print_table(("NODE", "NAME", "ADDRESS", "VERSION", "LEASE", "LIVE SESSIONS", "LAG"), rows)
        if found.bus is not None:
            state = "connected" if found.bus.connected else "away: new events are read from the store every second"
            say(f"This node gets new events by {found.bus.kind} ({state}).")
