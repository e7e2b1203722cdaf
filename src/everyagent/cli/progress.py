"""Progress on long work: on a terminal, on stderr, and gone when the work is done."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager

from rich.progress import DownloadColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TransferSpeedColumn

from everyagent.cli.output import err


def counting(chunks: Iterable[bytes], label: str) -> Generator[bytes]:
    """The chunks, with what has come so far shown."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=err(), transient=True, disable=not err().is_terminal) as progress:
        task = progress.add_task(label, total=None)
        for chunk in chunks:
            progress.advance(task, len(chunk))
            yield chunk


@contextmanager
def waiting(label: str) -> Generator[None]:
    """For work that cannot say how far it is."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=err(), transient=True, disable=not err().is_terminal) as progress:
        progress.add_task(label, total=None)
        yield
