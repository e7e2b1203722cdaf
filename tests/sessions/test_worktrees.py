"""Sessions that work in a git worktree of their own: create, commit, merge, drop, delete, fork."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from everyagent.errors import (
    BadRequest,
    FilesChanged,
    MergeConflict,
    NoRepository,
    NotFound,
    SessionExists,
    WorkNotMerged,
)
from everyagent.model.events import ItemCompleted
from everyagent.model.parts import ToolResultPart
from everyagent.model.sessions import CreateSession, ForkSession
from everyagent.model.worktrees import MergeWorktree
from everyagent.runtime.wall_probe import unavailable_reason
from everyagent.sessions import Sessions
from tests.managed.git_stage import git
from tests.sessions.conftest import Opened, Talk

Create = Callable[..., Awaitable[Talk]]
NAME = "-c user.name=a -c user.email=a@b"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The branch `main` with two files, and a third one that is not committed."""
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one\n")
    (folder / "docs").mkdir()
    (folder / "docs" / "b.txt").write_text("two\n")
    (folder / ".gitignore").write_text("ignored\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    (folder / "own.txt").write_text("not committed\n")
    return folder


async def begun(sessions: Sessions, directory: Path, **request: object) -> Talk:
    asked = CreateSession(agent="mock", directory=str(directory), worktree=True, permission_mode="bypass", **request)  # pyright: ignore[reportArgumentType]
    return Talk(sessions, (await sessions.create(None, asked)).session_id)


async def run(talk: Talk, command: str) -> str:
    """The output of a command of the agent."""
    assert "'" not in command
    events = [event.data for event in await talk.say(f"[tool name=bash command='{command}']")]
    results = [data.item.content for data in events if isinstance(data, ItemCompleted)]
    return "".join(part.output for parts in results for part in parts if isinstance(part, ToolResultPart))


async def place(talk: Talk) -> Path:
    return Path((await talk.info()).directory or "")


def status(folder: Path) -> str:
    return git(folder, "status", "--porcelain")


async def test_the_agent_works_in_its_own_checkout_and_its_work_is_merged(opened: Opened, repository: Path) -> None:
    async with opened() as sessions:
        talk = await begun(sessions, repository / "docs")
        info = await talk.info()
        assert info.worktree
        assert (info.worktree.repository, info.worktree.target) == (str(repository), "main")
        folder = Path(info.worktree.path)
        assert info.directory == str(folder / "docs")
        assert sorted(path.name for path in folder.iterdir()) == [".git", ".gitignore", "a.txt", "docs"]
        assert git(folder, "branch", "--show-current") == info.worktree.branch

        events = await run(talk, f"echo committed >> b.txt && git {NAME} commit -qam second && git checkout -qb side/x")
        assert "fatal" not in events or "side/x" in events
        assert git(folder, "log", "--format=%s") == "second\nfirst", events
        await run(talk, "echo new > new.txt; echo x > ignored; chmod +x new.txt")
        assert status(repository) == "?? own.txt"

        state = await sessions.worktrees.state(talk.id)
        assert (state.files, state.conflicts, state.uncommitted) == (["docs/b.txt", "docs/new.txt"], [], True)
        merged = await sessions.worktrees.merge(talk.id, MergeWorktree())
        assert (merged.branch, merged.files) == ("main", ["docs/b.txt", "docs/new.txt"])
        assert git(repository, "rev-parse", "main") == merged.commit
        assert (repository / "docs" / "b.txt").read_text() == "two\ncommitted\n"
        assert os.access(repository / "docs" / "new.txt", os.X_OK)
        assert (status(repository), status(folder)) == ("?? own.txt", "")
        assert (await sessions.worktrees.merge(talk.id, MergeWorktree())).files == []

        git(repository, "commit", "-qm", "theirs", "--allow-empty")
        await run(talk, "echo later >> new.txt")
        await sessions.worktrees.merge(talk.id, MergeWorktree(message="Both"))
        assert git(repository, "log", "-1", "--format=%s %p").startswith("Both ")
        assert (repository / "docs" / "new.txt").read_text() == "new\nlater\n"

        await sessions.worktrees.drop(talk.id, sessions.terminate, discard=False)
        assert not folder.exists()
        assert (await talk.info()).ended
        assert not (await sessions.worktrees.state(talk.id)).exists
        assert git(repository, "branch", "--format=%(refname:short)") == "main"
        assert not (repository / ".git" / "worktrees").exists()
        with pytest.raises(NotFound, match="dropped"):
            await sessions.worktrees.merge(talk.id, MergeWorktree())


async def test_a_conflict_names_the_files_and_changes_nothing(opened: Opened, repository: Path) -> None:
    async with opened() as sessions:
        talk = await begun(sessions, repository)
        await run(talk, "echo agent > a.txt; echo other > c.txt")
        (repository / "a.txt").write_text("person\n")
        git(repository, "commit", "-qam", "theirs")
        before = git(repository, "rev-parse", "HEAD")
        assert (await sessions.worktrees.state(talk.id)).conflicts == ["a.txt"]
        with pytest.raises(MergeConflict) as refused:
            await sessions.worktrees.merge(talk.id, MergeWorktree())
        assert refused.value.facts["files"] == ["a.txt"]
        folder = await place(talk)
        assert (git(repository, "rev-parse", "HEAD"), status(repository)) == (before, "?? own.txt")
        assert (folder / "a.txt").read_text() == "agent\n"
        assert status(folder) == "M a.txt\n?? c.txt"

        solved = (
            f"git {NAME} commit -qam mine; git {NAME} merge -q main; echo both > a.txt; git {NAME} commit -qam solved"
        )
        await run(talk, solved)
        merged = await sessions.worktrees.merge(talk.id, MergeWorktree())
        assert merged.files == ["a.txt", "c.txt"]
        assert (repository / "a.txt").read_text() == "both\n"


@pytest.mark.parametrize("staged", [False, True])
async def test_files_of_a_person_are_never_overwritten(opened: Opened, repository: Path, staged: bool) -> None:
    async with opened() as sessions:
        talk = await begun(sessions, repository)
        await run(talk, "echo agent >> a.txt; echo agent > own.txt; echo agent >> docs/b.txt")
        (repository / "a.txt").write_text("person\n")
        if staged:
            git(repository, "add", "a.txt")
        with pytest.raises(FilesChanged) as refused:
            await sessions.worktrees.merge(talk.id, MergeWorktree())
        assert refused.value.facts["files"] == ["a.txt", "own.txt"]
        assert (repository / "docs" / "b.txt").read_text() == "two\n"
        assert (repository / "own.txt").read_text() == "not committed\n"
        assert git(repository, "log", "--format=%s", "main") == "first"
        git(repository, "checkout", "-q", "HEAD", "--", "a.txt")
        (repository / "own.txt").unlink()
        (repository / "docs" / "unrelated.txt").write_text("person\n")
        await sessions.worktrees.merge(talk.id, MergeWorktree())
        assert status(repository) == "?? docs/unrelated.txt"


async def test_a_branch_that_nobody_is_on_is_merged_without_touching_files(opened: Opened, repository: Path) -> None:
    git(repository, "branch", "release")
    async with opened() as sessions:
        talk = await begun(sessions, repository)
        await run(talk, "echo agent >> a.txt")
        merged = await sessions.worktrees.merge(talk.id, MergeWorktree(into="release"))
        assert git(repository, "show", "release:a.txt") == "one\nagent"
        assert git(repository, "rev-parse", "release") == merged.commit
        assert (repository / "a.txt").read_text() == "one\n"
        with pytest.raises(BadRequest, match="no branch"):
            await sessions.worktrees.merge(talk.id, MergeWorktree(into="--help"))


async def test_work_that_is_not_merged_is_never_lost_silently(opened: Opened, repository: Path) -> None:
    async with opened() as sessions:
        dropped, deleted, merged = [await begun(sessions, repository) for _ in range(3)]
        for talk in (dropped, deleted):
            await run(talk, "echo agent >> a.txt; mkdir -p deep/er; echo x > deep/er/x; chmod 500 deep deep/er")
        await run(merged, f"git {NAME} commit -q --allow-empty -m nothing")
        with pytest.raises(WorkNotMerged) as refused:
            await sessions.worktrees.drop(dropped.id, sessions.terminate, discard=False)
        assert refused.value.facts["files"] == ["a.txt", "deep/er/x"]
        assert (await dropped.info()).status == "idle"
        assert "worked" in await run(dropped, "echo worked")

        left = await sessions.delete(deleted.id)
        branch = f"everyagent/{deleted.id}/work"
        assert left
        assert branch in left
        assert git(repository, "show", f"{branch}:a.txt") == "one\nagent"
        assert git(repository, "show", f"{branch}:deep/er/x") == "x"
        assert await sessions.delete(merged.id) is None

        await sessions.worktrees.drop(dropped.id, sessions.terminate, discard=True)
        assert git(repository, "branch", "--list", "--format=%(refname:short)") == f"{branch}\nmain"
        assert git(repository, "worktree", "list", "--porcelain").count("worktree ") == 1
        assert list((Path((await dropped.info()).directory or "").parent.parent).iterdir()) == []


async def test_commits_beside_the_branch_are_kept_as_well(opened: Opened, repository: Path) -> None:
    async with opened() as sessions:
        talk = await begun(sessions, repository)
        branch = f"everyagent/{talk.id}/idea"
        await run(talk, f"git checkout -qb {branch}; echo idea > idea; git add .; git {NAME} commit -qm idea")
        await run(
            talk, f"git checkout -q --detach; echo two > two; git add .; git {NAME} commit -qm two; echo 3 > three"
        )
        left = await sessions.delete(talk.id)
        assert left
        kept = [each for each in git(repository, "branch", "--format=%(refname:short)").splitlines() if each != "main"]
        assert branch in kept
        assert git(
            repository, "ls-tree", "--name-only", next(each for each in kept if "saved" in each)
        ).splitlines() == [
            ".gitignore",
            "a.txt",
            "docs",
            "idea",
            "three",
            "two",
        ]
        assert not [each for each in kept if each.endswith("/work")]


async def test_a_fork_gets_its_own_worktree_with_the_files_of_its_origin(opened: Opened, repository: Path) -> None:
    async with opened() as sessions:
        talk = await begun(sessions, repository / "docs")
        await run(talk, f"echo first >> b.txt; git {NAME} commit -qam second; echo loose > loose.txt")
        fork = Talk(sessions, (await sessions.fork(talk.id, ForkSession())).session_id)
        origin, copy = await place(talk), await place(fork)
        assert copy != origin
        assert (copy / "b.txt").read_text() == "two\nfirst\n"
        assert (copy / "loose.txt").read_text() == "loose\n"
        assert status(copy) == status(origin) == "?? docs/loose.txt" or status(copy) == "?? loose.txt"
        await run(fork, "echo fork > loose.txt")
        assert (origin / "loose.txt").read_text() == "loose\n"
        await sessions.worktrees.merge(fork.id, MergeWorktree())
        assert (repository / "docs" / "loose.txt").read_text() == "fork\n"
        await sessions.delete(fork.id)
        assert (origin / "loose.txt").exists()


async def test_without_a_repository_or_a_commit_the_error_has_the_reason(opened: Opened, tmp_path: Path) -> None:
    async with opened() as sessions:
        with pytest.raises(NoRepository, match="git init"):
            await begun(sessions, tmp_path)
        git(tmp_path, "init", "-q")
        with pytest.raises(BadRequest, match="no commit yet"):
            await begun(sessions, tmp_path)
        git(tmp_path, "commit", "-qm", "first", "--allow-empty")
        (tmp_path / "new").mkdir()
        with pytest.raises(BadRequest, match="has no folder"):
            await begun(sessions, tmp_path / "new")
        assert not (tmp_path / ".git" / "worktrees").exists()
        assert list((tmp_path / "data" / "worktrees").iterdir()) == []


async def test_a_session_that_is_not_stored_leaves_no_worktree(opened: Opened, repository: Path) -> None:
    async with opened() as sessions:
        asked = CreateSession(agent="mock", directory=str(repository), worktree=True)
        info = await sessions.create("work~1", asked)
        with pytest.raises(SessionExists):
            await sessions.create("work~1", asked)
        assert info.worktree
        assert Path(info.worktree.path).is_dir()
        branches = git(repository, "branch", "--format=%(refname:short)").splitlines()
        assert branches == [info.worktree.branch, "main"]


async def test_a_worktree_without_a_session_is_released_at_the_start(opened: Opened, repository: Path) -> None:
    async with opened() as sessions:
        kept, lost = await begun(sessions, repository), await begun(sessions, repository)
        await run(lost, "echo agent > new.txt")
        folders = [(await place(talk)).parent for talk in (kept, lost)]
        await sessions.terminate(lost.id)
        await sessions._log.delete(lost.id)  # as a restored backup does
    for folder in folders:
        os.utime(folder / "worktree.json", (0, 0))
    async with opened() as sessions:
        await sessions.worktrees.sweep()
        assert [folder.exists() for folder in folders] == [True, False]
        assert git(repository, "show", f"everyagent/{lost.id}/work:new.txt") == "agent"


@pytest.mark.skipif(unavailable_reason() is not None, reason=f"no walls here: {unavailable_reason()}")
async def test_behind_a_wall_only_commits_and_its_own_branches_can_be_changed(opened: Opened, repository: Path) -> None:
    async with opened() as sessions:
        talk = await begun(sessions, repository, isolation="namespace")
        other = await begun(sessions, repository, isolation="namespace")
        common = repository / ".git"
        attempts = [
            f"touch {common}/hooks/post-checkout",
            f"git -C {common} config core.fsmonitor evil",
            f"touch {common}/config.lock",
            f"touch {common}/refs/heads/other",
            "git branch other",
            f"touch {common}/refs/heads/everyagent/{other.id}/evil",
            f"touch {common}/index",
            f"cat {repository}/a.txt",
            f"ls {await place(other)}",
        ]
        for attempt in attempts:
            assert "exit 0" not in await run(talk, f"{attempt} && echo exit 0"), attempt
        worked = f"echo x >> a.txt && git {NAME} commit -qam x && git branch everyagent/{talk.id}/y && git status"
        assert "nothing to commit" in await run(talk, worked)
        assert status(repository) == "?? own.txt"
        git(repository, "gc", "-q")  # removes empty folders of branches
        assert "nothing to commit" in await run(talk, worked.replace("/y", "/z"))


async def test_a_hostile_repository_runs_nothing_and_leads_nowhere(
    opened: Opened, repository: Path, tmp_path: Path
) -> None:
    """Hooks, filters, monitors, drivers and links: of a repository, and of what an agent makes of its worktree."""
    mark = tmp_path / "ran"
    evil = f"touch {mark}; false"
    (repository / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "attributes")
    async with opened() as sessions:
        for name in (
            "core.fsmonitor",
            "core.sshCommand",
            "filter.evil.clean",
            "filter.evil.smudge",
            "diff.evil.textconv",
            "diff.evil.command",
            "diff.external",
            "merge.evil.driver",
            "gpg.program",
            "core.editor",
            "core.pager",
        ):
            git(repository, "config", name, evil)
        git(repository, "config", "commit.gpgSign", "true")
        hooks = repository / ".git" / "hooks"
        hooks.mkdir(exist_ok=True)
        for name in ("post-checkout", "reference-transaction", "pre-commit", "post-merge", "post-index-change"):
            (hooks / name).write_text(f"#!/bin/sh\n{evil}\n")
            (hooks / name).chmod(0o755)
        talk = await begun(sessions, repository, isolation="none")
        folder = await place(talk)
        (folder / "nested").mkdir()
        git(folder / "nested", "init", "-q")
        git(folder / "nested", "config", "core.fsmonitor", evil)
        (folder / "b.txt").write_text("agent\n")
        (folder / ".git").unlink()
        git(folder, "init", "-q")
        git(folder, "config", "core.fsmonitor", evil)
        secret = tmp_path / "secret"
        secret.write_text("untouched")
        own = next((repository / ".git" / "worktrees").iterdir())
        (own / "index").unlink()
        (own / "index").symlink_to(secret)
        (own / "commondir").write_text(str(folder / ".git"))
        branch = repository / ".git" / "refs" / "heads" / "everyagent" / talk.id / "work"
        base = git(folder, "--git-dir", str(repository / ".git"), "-c", "core.hooksPath=/dev/null", "rev-parse", "main")
        branch.write_text("ref: refs/heads/main\n")
        state = await sessions.worktrees.state(talk.id)
        assert state.files == ["b.txt"]
        fork = await sessions.fork(talk.id, ForkSession())
        await sessions.delete(fork.session_id)
        (repository / ".git" / "index").rename(tmp_path / "index")
        (repository / ".git" / "index").symlink_to(tmp_path / "index")
        with pytest.raises(Exception, match="symbolic link"):
            await sessions.worktrees.merge(talk.id, MergeWorktree())
        (repository / ".git" / "index").unlink()
        (tmp_path / "index").rename(repository / ".git" / "index")
        merged = await sessions.worktrees.merge(talk.id, MergeWorktree())
        assert (merged.branch, merged.files) == ("main", ["b.txt"])
        assert (repository / "b.txt").read_text() == "agent\n"
        assert merged.commit != base
        assert git(repository, "rev-parse", "main") == merged.commit
        await sessions.delete(talk.id)
        assert secret.read_text() == "untouched"
        assert not mark.exists()


async def test_the_settings_of_a_repository_name_no_file_with_patterns(
    opened: Opened, repository: Path, tmp_path: Path
) -> None:
    """What is ignored would show which patterns a file has that the agent cannot read."""
    (tmp_path / "patterns").write_text("secret-*\n")
    git(repository, "config", "core.excludesFile", str(tmp_path / "patterns"))
    async with opened() as sessions:
        talk = await begun(sessions, repository)
        await run(talk, "echo x > secret-name")
        assert (await sessions.worktrees.state(talk.id)).files == ["secret-name"]


@pytest.mark.parametrize("linked", ["objects", "refs/heads", "."])
async def test_links_out_of_a_git_folder_are_refused(opened: Opened, repository: Path, linked: str) -> None:
    place = (repository / ".git" / linked).resolve()
    moved = repository.parent / "moved"
    place.rename(moved)
    place.symlink_to(moved)
    async with opened() as sessions:
        with pytest.raises(NoRepository):
            await begun(sessions, repository)
