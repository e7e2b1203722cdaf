"""What an agent is told of its memory stores."""

from collections.abc import Callable, Sequence

from everyagent.managed.memory.memory_shape import MAX_BYTES
from everyagent.managed.workspace.shape import MemoryStoreResource

_ABOUT = (
    "You have memory that outlives this session: folders of text files, named below. Look there for what is known "
    "before you begin, and write there what will be of use later. A file is text of at most "
    f"{MAX_BYTES} bytes: make many small ones rather than few big ones."
)


def memory_note(resources: Sequence[object], placed: Callable[[str], str]) -> list[str]:
    """Lines of the system prompt; `placed` says where a path lies for the agent."""
    stores = [each for each in resources if isinstance(each, MemoryStoreResource)]
    return [_ABOUT, *(_line(each, placed(each.mount_path)) for each in stores)] if stores else []


def _line(store: MemoryStoreResource, place: str) -> str:
    access = "read-only: nothing you write there is kept" if store.access == "read_only" else "to read and write"
    words = (f"Memory {store.name!r}, {access}: {place}", store.description, store.instructions)
    return "\n  ".join(word for word in words if word)
