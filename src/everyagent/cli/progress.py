"""Progress indicators on stderr, shown only on a terminal and removed at the end."""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager

from rich.progress import (
    DownloadColumn,
    FileSizeColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)

from everyagent.cli.output import err


def counting(chunks: Iterable[bytes], label: str) -> Generator[bytes]:
    """Pass chunks on and show how many bytes have come so far."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=err(), transient=True, disable=not err().is_terminal) as progress:
        task = progress.add_task(label, total=None)
        for chunk in chunks:
            progress.advance(task, len(chunk))
            yield chunk


@contextmanager
def downloading(label: str) -> Generator[Callable[[int], None]]:
    """Show how many bytes have come so far; call the function with their number."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), FileSizeColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err(), transient=True, disable=not err().is_terminal) as progress:
        task = progress.add_task(label, total=None)
        yield lambda count: progress.update(task, completed=count)


@contextmanager
def waiting(label: str) -> Generator[None]:
    """Show a spinner for work whose progress is unknown."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=err(), transient=True, disable=not err().is_terminal) as progress:
        progress.add_task(label, total=None)
        yield
