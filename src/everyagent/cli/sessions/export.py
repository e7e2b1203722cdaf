"""`everyagent sessions export`: writes a session as one document, or its native frames as a test case."""

import codecs
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.exit_codes import CliFailure
from everyagent.cli.output import print_json, say, write_text
from everyagent.cli.progress import counting
from everyagent.cli.sessions.case import FRAMES, write_case
from everyagent.client.calls import ExportFormat


def export(
    session: str,
    /,
    *,
    format: Annotated[ExportFormat | Literal["case"], Parameter(name=["--format", "-F"])] = "markdown",
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """Export a whole session as one document, or its native frames as a test case.

    Parameters
    ----------
    session
        The session's id.
    format
        The document format. case writes a folder with the frames between the daemon and the agent, without local paths
        and tokens, as the golden tests of the adapters read it. Look through it before you send it to anybody.
    output
        The file to write, or the folder of a case. [default: stdout; for a case, the session's id]
    """
    if format == "case":
        _case(session, output or Path(session), options)
        return
    with options.client() as client:
        chunks = client.export(session, format=format)
        if output is None:
            _print(chunks)
            return
        written = _save(output, counting(chunks, f"Exporting {session}"))
    if options.json:
        print_json({"path": str(output), "bytes": written})
    else:
        say(f"Wrote {output} ({written:,} bytes).")


def _case(session: str, folder: Path, options: DaemonOptions) -> None:
    with options.client() as client:
        try:
            count = write_case(client, session, folder)
        except FileExistsError as error:
            raise CliFailure(f"{error.filename} exists already. Choose another folder with --output.") from error
    if options.json:
        print_json({"path": str(folder), "frames": count})
    else:
        say(f"Wrote {folder / FRAMES} ({count} frames). Look through it: text of the conversation is in it.")


def _print(chunks: Iterable[bytes]) -> None:
    """A file or another program gets the bytes as they are."""
    if not sys.stdout.isatty():
        for chunk in chunks:
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for chunk in chunks:
        write_text(decoder.decode(chunk))


def _save(path: Path, chunks: Iterable[bytes]) -> int:
    """Write to a temporary file and rename it when it is complete."""
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
