"""`everyagent search`: searches the transcripts of all sessions."""

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.exit_codes import CliFailure, ExitCode
from everyagent.cli.output import one_line, print_json, print_table, say


def search(
    *words: str,
    session: str | None = None,
    limit: Annotated[int, Parameter(name=["--limit", "-n"], validator=Number(gte=1))] = 20,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """Search the transcripts of all sessions.

    Parameters
    ----------
    words
        The words to search for.
    session
        Search only this session.
    limit
        The maximum number of hits.
    """
    if not words:
        raise CliFailure("No words to search for. Example: everyagent search failing test", ExitCode.USAGE)
    with options.client() as client:
        hits = client.search(" ".join(words), session_id=session, limit=limit)
    if options.json:
        print_json(hits)
    elif hits:
        rows = [(hit.session_id, str(hit.sequence), hit.time[:16], one_line(hit.snippet)) for hit in hits]
        print_table(("SESSION", "EVENT", "TIME", "TEXT"), rows)
    else:
        say("Nothing found.")
