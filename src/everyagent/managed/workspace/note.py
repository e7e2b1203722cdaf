"""The part of the system prompt that describes a session's workspace."""

from collections.abc import Callable, Sequence
from pathlib import Path

from everyagent.managed.memory.shape import MAX_BYTES
from everyagent.managed.workspace.shape import OUTPUTS, FileResource, MemoryStoreResource, Resource
from everyagent.model.tools import SKILL_FOLDERS

_ABOUT_MEMORY = (
    "You have memory that outlives this session: folders of text files, named below. Look there for what is known "
    "before you begin, and write there what will be of use later. A file is text of at most "
    f"{MAX_BYTES} bytes: make many small ones rather than few big ones."
)


def place(root: Path, path: str) -> Path:
    return root.joinpath(*(part for part in path.split("/") if part))


def workspace_note(
    root: Path, resources: Sequence[Resource], skills: Sequence[tuple[str, str]], *, hosted: bool
) -> str:
    """`hosted`: the client's own machine runs the tools, so memory is there."""
    lines = [
        f"Your working directory is {root}. Paths that begin with /mnt/session or /workspace mean {root}/mnt/session "
        f"and {root}/workspace.",
        f"Files the user shall get belong in {place(root, OUTPUTS)}.",
    ]
    lines += [
        f"{'File' if isinstance(each, FileResource) else f'Repository {each.url}'}: {place(root, each.mount_path)}"
        for each in resources
        if not isinstance(each, MemoryStoreResource)
    ]
    lines += [
        f"Skill {name}: {description} (see {root / SKILL_FOLDERS[0] / name / 'SKILL.md'})"
        for name, description in skills
    ]
    lines += _memory_lines(resources, lambda path: path if hosted else str(place(root, path)))
    return "\n".join(lines)


def _memory_lines(resources: Sequence[Resource], placed: Callable[[str], str]) -> list[str]:
    """`placed` maps a path of the API to the agent's."""
    stores = [each for each in resources if isinstance(each, MemoryStoreResource)]
    return [_ABOUT_MEMORY, *(_line(each, placed(each.mount_path)) for each in stores)] if stores else []


def _line(store: MemoryStoreResource, place: str) -> str:
    access = "read-only: nothing you write there is kept" if store.access == "read_only" else "to read and write"
    words = (f"Memory {store.name!r}, {access}: {place}", store.description, store.instructions)
    return "\n  ".join(word for word in words if word)
