"""Checkpoints of a folder in a private repository: kept before and after each turn, and brought back by a rewind.

Nothing is written to the repository that the folder may be in.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from everyagent.errors import BadRequest, FilesChanged, GitFailed
from everyagent.git.commands import Git, RepositoryGit
from everyagent.git.merging import named
from everyagent.git.repository import Repository, find
from everyagent.git.snapshot import excludes, listed, written
from everyagent.logs import get_logger
from everyagent.private_files import private_folder

#: A folder with more is not kept: it would take too long before each turn.
MOST_FILES = 50_000
MOST_BYTES = 1 << 30
#: So many are kept; the oldest go, in groups, since that takes longer than a checkpoint.
MOST_KEPT = 200
_GROUP = 50
#: No command of a checkpoint may take longer.
_LIMIT_SECONDS = 30.0
_REFS = "refs/checkpoints/"
_TITLE = "checkpoint"
Moment: TypeAlias = Literal["after", "before"]
logger = get_logger(__name__)


class Checkpoint(Struct, frozen=True, kw_only=True):
    """The files just `before` the turn that began with the event `sequence`, or `after` the turn that ended by it."""

    sequence: int
    moment: Moment
    commit: str

    @property
    def ref(self) -> str:
        return f"{_REFS}{self.sequence:012d}/{self.moment}"


class Store:
    """The checkpoints of one session, in the folder `place`. Every method blocks."""

    def __init__(self, git: Git, place: Path, directory: Path, *, walled: bool, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._place = place
        private_folder(place)
        note = place / "root"
        if not note.exists():
            around = find(directory)
            note.write_bytes(os.fsencode(around.root if around else directory))
        self._root = Path(os.fsdecode(note.read_bytes()))
        if not directory.is_relative_to(self._root):
            raise GitFailed(f"The checkpoints in {place} are of another directory, {self._root}. Move them away.")
        self._inside = directory.relative_to(self._root)
        around = find(self._root)
        common = around.common if around and around.root == self._root else place
        objects = place / "objects"
        private_folder(objects)
        settings = replace(git.settings_of(common), format="sha1")
        repository = Repository(root=self._root, own=place, common=place)
        self._git = RepositoryGit(git, repository, settings, walled=walled, limit=_LIMIT_SECONDS, inside=self._inside)
        if not (place / "HEAD").exists():
            (place / "refs").mkdir(exist_ok=True)
            (place / "HEAD").write_text("ref: refs/heads/none\n")

    def keep(
        self,
        sequence: int,
        moment: Moment,
        *,
        ended: int | None = None,
        again: bool = False,
        protect: Checkpoint | None = None,
    ) -> None:
        """Once for each moment, unless `again`. Raises `GitFailed` if that would take too long or too much space.

        Files that were changed since `ended`, the end of the turn in nanoseconds, are noted as a person's. Old
        checkpoints go, but neither `protect` nor a later one: a rewind needs them to know who changed what.
        """
        known = self.all()
        if not again and any(each.sequence == sequence and each.moment == moment for each in known):
            return
        known = self._within_space(known, protect)
        tree = self._snapshot()
        changed = self._git.changed(known[-1].commit, tree) if known and ended else []
        late = [os.fsencode(path).hex() for path in changed if _is_newer(self._root / path, ended or 0)]
        note = "\n".join([_TITLE, *late])
        commit = self._git.objects("commit-tree", tree, stdin=note.encode()).text
        self._git.names("update-ref", Checkpoint(sequence=sequence, moment=moment, commit=commit).ref, commit)
        if len(known) >= MOST_KEPT + _GROUP:
            self._drop(known[: min(len(known) - MOST_KEPT, _droppable(known, protect))])

    def _drop(self, old: Iterable[Checkpoint]) -> None:
        for each in old:
            self._git.names("update-ref", "-d", each.ref)
        self._git.names("prune", "--expire=now")

    def _within_space(self, known: Sequence[Checkpoint], protect: Checkpoint | None) -> Sequence[Checkpoint]:
        """Those that are left: the older half goes until the others fit, the newest one last.

        What `protect` keeps may take more; the next checkpoint without it makes room.
        """
        most = self._most_bytes
        while most and (size := _size(self._place)) > most:
            count = min(max(1, len(known) // 2), _droppable(known, protect))
            if not count and protect:
                break
            if not count:
                raise GitFailed(
                    f"The files of the last checkpoint take {size:,} bytes; {most:,} are allowed "
                    "(`serve --session-checkpoints`)."
                )
            self._drop(known[:count])
            known = known[count:]
        return known

    def all(self) -> list[Checkpoint]:
        """In the order in which they were kept."""
        listing = self._git.names("for-each-ref", "--format=%(objectname) %(refname)", _REFS).text
        found = list[Checkpoint]()
        for line in listing.splitlines():
            commit, _, name = line.partition(" ")
            sequence, _, moment = name.removeprefix(_REFS).partition("/")
            found.append(
                Checkpoint(sequence=int(sequence), moment="before" if moment == "before" else "after", commit=commit)
            )
        return sorted(found, key=lambda each: (each.sequence, each.moment))

    def restore(self, wanted: Checkpoint, now: int, begun: Sequence[int], *, dry_run: bool = False) -> list[str]:
        """Brings back the files that agents changed since a checkpoint, and returns their names.

        Files that only a person changed stay as they are. Raises `FilesChanged`, with nothing changed, if a person has
        changed some of the others. `now` is the session's last event. Turns `begun` without a checkpoint count, too.
        With `dry_run` nothing is written. The files as they are then are kept; if that fails, it is only logged.
        """
        tree = self._snapshot()
        since = [each for each in self.all() if (each.sequence, each.moment) >= (wanted.sequence, wanted.moment)]
        by_agent, by_person = set[str](), set[str]()
        for older, newer in zip(since, [*since[1:], None], strict=True):
            end = newer.sequence if newer else now + 1
            no_turn = not any(older.sequence < each < end for each in begun)
            is_persons = older.moment == "after" and (newer is None or newer.moment == "before") and no_turn
            changed = self._git.changed(older.commit, newer.commit if newer else tree)
            (by_person if is_persons else by_agent).update(changed)
            if newer and not is_persons:
                by_person.update(self._late(newer).intersection(changed))
        restored = sorted(by_agent.intersection(self._git.changed(wanted.commit, tree)))
        if in_the_way := [path for path in restored if path in by_person]:
            raise FilesChanged(
                f"These files were changed by a person since: {named(in_the_way)}. No file was changed. Save them "
                "elsewhere and undo the changes, then rewind again.",
                files=in_the_way,
            )
        if restored and not dry_run:
            self._write(tree, self._with(tree, wanted.commit, restored))
            try:
                self.keep(now + 1, "after", again=True)
            except (GitFailed, OSError) as error:
                note = "no checkpoint was made after a rewind; its changes count as a person's"
                logger.warning(note, folder=str(self._place), error=str(error))
        return restored

    def _late(self, checkpoint: Checkpoint) -> set[str]:
        """The files that were changed between the end of a turn and the checkpoint after it."""
        message = self._git.objects("log", "-1", "--format=%B", checkpoint.commit).text
        return {os.fsdecode(bytes.fromhex(line)) for line in message.removeprefix(_TITLE).split()}

    def _snapshot(self) -> str:
        """The tree of the files as they are. The index is kept: files that did not change are not read again."""
        index = self._place / "index"
        with self._git.git.workspace() as workspace:
            listing = excludes(self._git, workspace)
            paths = self._within_limits(listed(self._git, self._root, index, listing, self._inside))
            try:
                return written(self._git, self._root, index, paths)
            except GitFailed:
                index.unlink(missing_ok=True)
                Path(f"{index}.lock").unlink(missing_ok=True)
                raise

    def _within_limits(self, paths: Sequence[bytes]) -> Sequence[bytes]:
        if len(paths) > MOST_FILES:
            raise GitFailed(f"The directory has {len(paths):,} files that are not ignored; {MOST_FILES:,} are kept.")
        size = 0
        for path in paths:
            try:
                size += os.lstat(os.fsencode(self._root) + b"/" + path).st_size
            except OSError:
                continue
        most = min(MOST_BYTES, self._most_bytes or MOST_BYTES)
        if size > most:
            raise GitFailed(f"The directory has {size:,} bytes that are not ignored; {most:,} are kept.")
        return paths

    def _with(self, tree: str, source: str, paths: Iterable[str]) -> str:
        """A tree with some files of another one, or without those that the other one does not have."""
        encoded = [os.fsencode(path) for path in paths]
        listing = self._git.objects("ls-tree", "-r", "-z", source).output.split(b"\0")
        entries = {path: facts for facts, _, path in (line.partition(b"\t") for line in listing if line)}
        gone = b"0 " + b"0" * 40
        lines = [entries.get(path, gone) + b"\t" + path + b"\0" for path in encoded]
        with self._git.git.workspace() as workspace:
            index = workspace / "index"
            self._git.objects("read-tree", tree, index=index)
            removed = [line for line in lines if line.startswith(b"0 ")]
            added = [line for line in lines if not line.startswith(b"0 ")]
            self._git.objects("update-index", "-z", "--index-info", index=index, stdin=b"".join(removed + added))
            return self._git.objects("write-tree", index=index).text

    def _write(self, old: str, new: str) -> None:
        try:
            words = ("read-tree", "-m", "-u", old, new)
            self._git.objects(*words, index=self._place / "index", files=self._root, changes=True)
        except GitFailed as error:
            raise FilesChanged(f"The files could not be brought back: {error.detail}", files=[]) from error


def _is_newer(file: Path, moment: int) -> bool:
    """False for a file that is not there: bringing it back overwrites nothing."""
    try:
        return file.lstat().st_ctime_ns > moment
    except OSError:
        return False


def _droppable(known: Sequence[Checkpoint], protect: Checkpoint | None) -> int:
    """So many of the oldest may go."""
    return known.index(protect) if protect else len(known)


def chosen(checkpoints: Sequence[Checkpoint], sequence: int, next_turn: int | None) -> Checkpoint:
    """The checkpoint for an event between two turns: that before the next turn, if there is one."""
    for each in checkpoints:
        if next_turn is not None and each.sequence == next_turn and each.moment == "before":
            return each
    later = [each for each in checkpoints if next_turn is None and each.moment == "after" and each.sequence >= sequence]
    if not later:
        raise BadRequest(
            f"There is no checkpoint of the files at event {sequence}: it was skipped or is too old, or nothing "
            "happened since. GET …/checkpoints lists those that there are.",
            field="sequence",
        )
    return later[0]


def _size(folder: Path) -> int:
    return sum(os.lstat(os.path.join(place, name)).st_size for place, _, names in os.walk(folder) for name in names)
