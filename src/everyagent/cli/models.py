"""`everyagent models`: lists the models of agents."""

import anyio

from everyagent.cli.daemon_connection import connect_without_sessions
from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.output import print_json, print_table, say
from everyagent.client import ApiError
from everyagent.model.responses import ModelList


def models(agent: str | None = None, /, *, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """List the models of an agent, or of all that are installed.

    Parameters
    ----------
    agent
        The agent. [default: all that are installed]
    """
    found = anyio.run(_listed, options, agent, backend_options={"use_uvloop": True})
    if options.json:
        print_json(found)
        return
    rows = [
        (model.id, name, model.name or "", "yes" if model.id == listed.default_model else "", " ".join(model.variants))
        for name, listed in found.items()
        for model in listed.models
    ]
    print_table(("MODEL", "AGENT", "NAME", "DEFAULT", "VARIANTS"), rows)
    for name, listed in found.items():
        if listed.open_models:
            say(f"{name} also takes the names of other models.", "dim")


async def _listed(options: DaemonOptions, agent: str | None) -> dict[str, ModelList]:
    async with connect_without_sessions(options) as connection:
        client = connection.client
        if agent is not None:
            return {agent: await client.models(agent)}
        found: dict[str, ModelList] = {}
        for each in await client.agents():
            if not each.installed:
                continue
            try:
                found[each.id] = await client.models(each.id)
            except ApiError as error:
                say(f"! {each.id}: {error}", "yellow")
        return found
