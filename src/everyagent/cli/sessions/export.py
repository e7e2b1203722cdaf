"""`everyagent sessions export`."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from everyagent.cli.progress import counting
from everyagent.cli.screen import print_json, say
from everyagent.cli.target import HERE, Target
from everyagent.client.calls import ExportFormat


def export(
    session: str,
    /,
    *,
    format: Annotated[ExportFormat, Parameter(name=["--format", "-F"])] = "markdown",
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    target: Target = HERE,
) -> None:
    """The whole session as one document.

    Parameters
    ----------
    session
        Its id.
    format
        What kind.
    output
        Into this file. [default: stdout]
    """
    with target.client() as client:
        chunks = client.export(session, format=format)
        if output is None:
            for chunk in chunks:
                sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
            return
        written = _save(output, counting(chunks, f"Exporting {session}"))
    if target.json:
        print_json({"path": str(output), "bytes": written})
    else:
        say(f"Wrote {output} ({written:,} bytes).")


def _save(path: Path, chunks: Iterable[bytes]) -> int:
    """The file appears when it is whole."""
    part = path.with_name(path.name + ".part")
    written = 0
    try:
        with part.open("wb") as file:
            for chunk in chunks:
                written += file.write(chunk)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return written
