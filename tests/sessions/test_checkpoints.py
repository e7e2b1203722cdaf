"""Checkpoints of a session's files, and rewinds of files and conversation."""

import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from everyagent.errors import BadRequest, FilesChanged, OffsetOutOfRange, SessionBusy, SessionHasEnded
from everyagent.git import checkpoints as kept
from everyagent.log.log import SessionQuery
from everyagent.model.checkpoints import RewindSession, RewoundSession
from everyagent.model.events import ItemCompleted, TurnEnded
from everyagent.model.items import text_of
from everyagent.model.parts import StatusPart
from everyagent.model.sessions import CreateSession, ForkSession
from everyagent.sessions import Sessions
from tests.managed.git_stage import git
from tests.sessions.conftest import Opened, Talk
from tests.sessions.test_worktrees import run as started
from tests.waiting import LIMIT_SECONDS

Create = Callable[..., Awaitable[Talk]]


async def begun(sessions: Sessions, directory: Path, **request: object) -> Talk:
    directory.mkdir(exist_ok=True)
    asked = CreateSession(agent="mock", directory=str(directory), checkpoints=True, permission_mode="bypass", **request)  # pyright: ignore[reportArgumentType]
    return Talk(sessions, (await sessions.create(None, asked)).session_id)


async def run(talk: Talk, command: str) -> None:
    """Returns when the files are kept after the turn, so that what follows is a person's."""
    kept_before = len(await talk.sessions.checkpoints.all(talk.id))
    await started(talk, command)
    with anyio.fail_after(LIMIT_SECONDS):
        while len(await talk.sessions.checkpoints.all(talk.id)) < kept_before + 2:
            await anyio.sleep(0.01)


async def ends(talk: Talk) -> list[int]:
    """The sequences at which turns ended."""
    return [event.sequence for event in await talk.events() if isinstance(event.data, TurnEnded)]


async def rewound(talk: Talk, sequence: int, restore: str = "files") -> RewoundSession:
    return await talk.sessions.rewind(talk.id, RewindSession(sequence=sequence, restore=restore))  # pyright: ignore[reportArgumentType]


def files(folder: Path) -> dict[str, str]:
    found = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(found)}


@pytest.mark.parametrize("repository", [False, True])
async def test_files_are_as_they_were_after_a_turn(opened: Opened, tmp_path: Path, repository: bool) -> None:
    """Also those that a shell changed, in a subfolder of a git repository and without one."""
    root = tmp_path / "project"
    folder = root / "sub" if repository else root
    folder.mkdir(parents=True)
    if repository:
        git(root, "init", "-q", "-b", "main")
        git(root, "commit", "-qm", "first", "--allow-empty")
    (root / ".gitignore").write_text("ignored\n")
    (folder / "a.txt").write_text("mine\n")
    (folder / "gone.txt").write_text("to be deleted\n")
    async with opened() as sessions:
        talk = await begun(sessions, folder)
        await run(talk, "echo one >> a.txt; mkdir d; echo d > d/d.txt; echo x > ignored")
        first = files(folder)
        await run(talk, "echo two >> a.txt; rm gone.txt; rm -r d; echo file > d; chmod +x a.txt; ln -s a.txt link")
        second = files(folder)
        (folder / "person.txt").write_text("a person made this\n")
        await run(talk, "echo three >> a.txt; echo y > ignored")
        one, two, three = await ends(talk)
        assert [each.moment for each in await sessions.checkpoints.all(talk.id)] == ["before", "after"] * 3

        now, head = files(folder), (await talk.info()).event_count
        planned = await sessions.rewind(talk.id, RewindSession(sequence=one, restore="files", dry_run=True))
        assert (files(folder), (await talk.info()).event_count) == (now, head)
        done = await rewound(talk, one)
        assert done == planned
        assert (done.sequence, done.conversation) == (one, False)
        assert {name.rpartition("/")[2] for name in done.files} == {"a.txt", "gone.txt", "d", "d.txt", "link"}
        own = {"person.txt": "a person made this\n", "ignored": "y\n"}
        assert files(folder) == first | own
        assert not os.access(folder / "a.txt", os.X_OK)
        assert not (folder / "link").is_symlink()
        await rewound(talk, two)
        assert files(folder) == second | own
        await rewound(talk, one + 1)
        assert files(folder) == first | own
        begin = (await sessions.checkpoints.all(talk.id))[0].sequence
        assert (await rewound(talk, begin + 1)).sequence == begin - 1
        assert files(folder)["a.txt"] == "mine\n"
        await rewound(talk, three)
        assert files(folder)["a.txt"] == "mine\none\ntwo\nthree\n"
        if repository:
            assert git(root, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
            assert git(root, "status", "--porcelain") == "?? .gitignore\n?? sub/"

        store = tmp_path / "data" / "checkpoints"
        assert list(store.iterdir())
        await sessions.delete(talk.id)
        assert list(store.iterdir()) == []


async def test_what_a_person_changed_since_is_not_overwritten(opened: Opened, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    async with opened() as sessions:
        talk = await begun(sessions, folder)
        await run(talk, "echo one > a.txt; echo one > b.txt")
        await run(talk, "echo two > a.txt; echo two > b.txt")
        (folder / "a.txt").write_text("person\n")
        (one, two) = await ends(talk)
        before = files(folder)
        with pytest.raises(FilesChanged) as refused:
            await rewound(talk, one)
        assert refused.value.facts["files"] == ["a.txt"]
        assert files(folder) == before
        await run(talk, "echo three > b.txt")
        with pytest.raises(FilesChanged):
            await rewound(talk, one)
        assert (await rewound(talk, two)).files == ["b.txt"]
        assert files(folder) == {"a.txt": "person\n", "b.txt": "two\n"}
        (folder / "a.txt").write_text("one\n")
        assert (await rewound(talk, one)).files == ["b.txt"]
        assert files(folder) == {"a.txt": "one\n", "b.txt": "one\n"}


async def test_the_conversation_is_what_was_said_until_then(opened: Opened, tmp_path: Path) -> None:
    async with opened() as sessions:
        talk = await begun(sessions, tmp_path / "work")
        await talk.say("[text words=3] the first word is apple")
        await run(talk, "echo two > a.txt")
        await talk.say("the second word is banana")
        (one, _, _) = await ends(talk)
        native = (await talk.info()).native_session_id
        done = await rewound(talk, one, "both")
        assert (done.sequence, done.conversation) == (one, True)
        assert files(tmp_path / "work") == {}
        notes = [event.data.item for event in await talk.events() if isinstance(event.data, ItemCompleted)]
        labels = [part.label for item in notes for part in item.content if isinstance(part, StatusPart)]
        assert labels == [f"Rewound to event {one}"]
        seed = (await sessions._launcher.launch_for(await sessions._log.session(talk.id))).seed or ""
        assert "apple" in seed
        assert "banana" not in seed
        assert "echo two" not in seed
        said = [
            text_of(event.data.item) for event in await talk.say("[whoami]") if isinstance(event.data, ItemCompleted)
        ]
        assert "turn: 1" in "\n".join(said)
        assert (await talk.info()).native_session_id != native
        fork = await sessions.fork(talk.id, ForkSession())
        seed = (await sessions._launcher.launch_for(await sessions._log.session(fork.session_id))).seed or ""
        assert ("apple" in seed, "banana" in seed, "whoami" in seed) == (True, False, True)
        early = await sessions.fork(talk.id, ForkSession(sequence=one + 3))
        talked = Talk(sessions, early.session_id)
        await talked.say("a cherry")
        seed = (await sessions._launcher._seed(await sessions._log.session(early.session_id))) or ""
        assert "cherry" in seed


async def test_the_event_of_a_rewind_names_only_some_of_many_files(opened: Opened, tmp_path: Path) -> None:
    async with opened() as sessions:
        talk = await begun(sessions, tmp_path / "work")
        await run(talk, "touch $(seq 200)")
        assert len((await rewound(talk, 1)).files) == 200
        notes = [event.data.item for event in await talk.events() if isinstance(event.data, ItemCompleted)]
        details = [part.detail or "" for item in notes for part in item.content if isinstance(part, StatusPart)]
        assert details[0].endswith(" and 180 more.")


async def test_a_rewind_is_refused_where_it_makes_no_sense(opened: Opened, create: Create, tmp_path: Path) -> None:
    async with opened() as sessions:
        plain = await create(sessions)
        await plain.say("hello")
        (end,) = await ends(plain)
        with pytest.raises(BadRequest, match="has no checkpoints"):
            await rewound(plain, end)
        with pytest.raises(OffsetOutOfRange):
            await rewound(plain, 1000)
        assert (await rewound(plain, end, "conversation")).conversation
        talk = await begun(sessions, tmp_path / "work")
        await run(talk, "echo one > a.txt")
        await talk.send("[hang]")
        await talk.until(lambda info: info.status == "running")
        with pytest.raises(SessionBusy):
            await rewound(talk, 1)
        await sessions.terminate(talk.id)
        with pytest.raises(SessionHasEnded):
            await rewound(talk, 1, "both")
        assert (await rewound(talk, 1)).files == ["a.txt"]


async def test_a_hostile_directory_runs_nothing_and_leads_nowhere(opened: Opened, tmp_path: Path) -> None:
    folder, mark, secret = tmp_path / "work", tmp_path / "ran", tmp_path / "secret"
    secret.mkdir()
    (secret / "file").write_text("untouched\n")
    async with opened() as sessions:
        talk = await begun(sessions, folder, isolation="none")
        await run(talk, "mkdir d; echo one > d/file")
        await run(talk, "echo two > d/file")
        for place in (folder, folder / "nested"):
            place.mkdir(exist_ok=True)
            git(place, "init", "-q")
            for name in ("core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "core.sshCommand"):
                git(place, "config", name, f"touch {mark}; false")
        await run(talk, f"echo x filter=evil > .gitattributes; rm -r d; ln -s {secret} d")
        one, two, _ = await ends(talk)
        await rewound(talk, two)
        assert (folder / "d" / "file").read_text() == "two\n"
        assert not (folder / "d").is_symlink()
        await rewound(talk, one)
        assert (secret / "file").read_text() == "untouched\n"
        assert not mark.exists()


class Paused:
    """Stops each call of a method of checkpoints, if `argument` is one of its arguments, until `go` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, method: str, argument: object) -> None:
        self.reached, self.go = threading.Event(), threading.Event()
        original = getattr(kept.Store, method)

        def paused(*given: Any, **rest: Any) -> None:
            if argument in given:
                self.reached.set()
                assert self.go.wait(LIMIT_SECONDS)
            original(*given, **rest)

        monkeypatch.setattr(kept.Store, method, paused)

    async def wait(self) -> None:
        assert await to_thread.run_sync(self.reached.wait, LIMIT_SECONDS)


async def test_a_checkpoint_that_is_being_made_is_deleted_with_its_session(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "work"
    async with opened() as sessions:
        talk = await begun(sessions, folder)
        await run(talk, "echo one > a.txt")
        paused = Paused(monkeypatch, "__init__", folder)
        await talk.send("[hello]")
        await paused.wait()
        (actor,) = sessions._supervisor.actors()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sessions.delete, talk.id)
            with anyio.fail_after(LIMIT_SECONDS):
                while actor.record.status != "ended":
                    await anyio.sleep(0.01)
            for _ in range(100):  # all that can happen before the checkpoint is finished happens
                await anyio.sleep(0.001)
            paused.go.set()
        assert list((tmp_path / "data" / "checkpoints").iterdir()) == []
        assert await sessions._log.sessions(SessionQuery(limit=10)) == []


@pytest.mark.parametrize("later_turn", [False, True])
async def test_turns_without_checkpoints_count_as_the_agents(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later_turn: bool
) -> None:
    folder = tmp_path / "work"
    async with opened() as sessions:
        talk = await begun(sessions, folder)
        await run(talk, "echo one > a.txt")
        (folder / "large").write_text("x" * 200)
        with monkeypatch.context() as patch:
            patch.setattr(kept, "MOST_BYTES", 100)
            await started(talk, "echo two > a.txt")
    async with opened() as sessions:
        talk = Talk(sessions, talk.id)
        if later_turn:
            await run(talk, "echo three > b.txt")
        changed = files(folder)
        last = (await ends(talk))[-1]
        begin = (await sessions.checkpoints.all(talk.id))[0].sequence
        assert set((await rewound(talk, begin)).files) == set(changed)
        assert files(folder) == {}
        await rewound(talk, last)
        assert files(folder) == changed


async def test_what_a_person_changes_before_the_checkpoint_is_made_is_not_overwritten(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "work"
    async with opened() as sessions:
        talk = await begun(sessions, folder)
        await run(talk, "echo one > a.txt; echo one > b.txt")
        paused = Paused(monkeypatch, "keep", "after")
        await started(talk, "echo two > a.txt; echo two > b.txt")
        await paused.wait()
        (folder / "a.txt").write_text("person\n")
        paused.go.set()
        (one, _) = await ends(talk)
        with pytest.raises(FilesChanged) as refused:
            await rewound(talk, one)
        assert refused.value.facts["files"] == ["a.txt"]
        (folder / "a.txt").write_text("one\n")
        assert (await rewound(talk, one)).files == ["b.txt"]
