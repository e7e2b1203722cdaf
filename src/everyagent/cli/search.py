"""`everyagent search`."""

from typing import Annotated

from cyclopts import Parameter

from everyagent.cli.screen import one_line, print_json, print_table, say
from everyagent.cli.target import HERE, Target


def search(
    *words: str,
    session: str | None = None,
    limit: Annotated[int, Parameter(name=["--limit", "-n"])] = 20,
    target: Target = HERE,
) -> None:
    """Full text, over all transcripts.

    Parameters
    ----------
    words
        What to look for.
    session
        In this session only.
    limit
        At most so many.
    """
    with target.client() as client:
        hits = client.search(" ".join(words), session_id=session, limit=limit)
    if target.json:
        print_json(hits)
    elif hits:
        rows = [(hit.session_id, str(hit.sequence), hit.time[:16], one_line(hit.snippet)) for hit in hits]
        print_table(("SESSION", "EVENT", "TIME", "TEXT"), rows)
    else:
        say("Nothing found.")
