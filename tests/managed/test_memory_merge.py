"""The three-way merge of a folder and a memory store loses no text."""

from hypothesis import given
from hypothesis import strategies as st

from everyagent.managed.memory.changes import StoredMemory
from everyagent.managed.memory.merge import Drop, Erase, Frozen, Leave, Move, Pull, Push, Same, merge

PATHS = ["/a", "/b", "/c/d"]
texts = st.dictionaries(st.sampled_from(PATHS), st.sampled_from(["1", "2", "3"]))


def store(texts: dict[str, str]) -> dict[str, StoredMemory]:
    return {path: StoredMemory(f"mem_{path}", path, text, 1, "memver_x", None) for path, text in texts.items()}


def applied(
    base: dict[str, str], local: dict[str, str], remote: dict[str, str], *, frozen: Frozen | None = None
) -> tuple[dict[str, str], dict[str, str], set[str]]:
    """The folder and the store after the merge, and every text that is or was in the store."""
    folder, kept, versions = dict(local), dict(remote), set(remote.values())
    for step in merge(base, local, store(remote), frozen=frozen):
        match step:
            case Push():
                kept[step.path] = local[step.path]
            case Move():
                del kept[step.memory.path]
                kept[step.path] = step.memory.sha256
            case Erase():
                del kept[step.path]
            case Pull():
                folder[step.path] = step.memory.sha256
            case Drop():
                del folder[step.path]
            case Same() | Leave():
                pass
    return folder, kept, versions | set(kept.values())


@given(base=texts, local=texts, remote=texts)
def test_a_merge_makes_folder_and_store_equal(
    base: dict[str, str], local: dict[str, str], remote: dict[str, str]
) -> None:
    folder, kept, _ = applied(base, local, remote)
    assert folder == kept


@given(base=texts, local=texts, remote=texts)
def test_a_merge_loses_no_text(base: dict[str, str], local: dict[str, str], remote: dict[str, str]) -> None:
    """The agent's texts are in the store at least as versions. Texts that the agent has not seen are kept."""
    _, kept, versions = applied(base, local, remote)
    assert {text for path, text in local.items() if text != base.get(path)} <= versions
    unseen = {path: text for path, text in remote.items() if text != base.get(path) and path not in local}
    assert unseen.items() <= kept.items()


@given(base=texts, local=texts, remote=texts)
def test_a_read_only_store_is_never_changed_by_a_merge(
    base: dict[str, str], local: dict[str, str], remote: dict[str, str]
) -> None:
    folder, kept, _ = applied(base, local, remote, frozen="read_only")
    assert kept == remote
    assert remote.items() <= folder.items()


@given(base=texts, local=texts, remote=texts)
def test_an_archived_store_and_the_agents_files_both_stay(
    base: dict[str, str], local: dict[str, str], remote: dict[str, str]
) -> None:
    folder, kept, _ = applied(base, local, remote, frozen="archived")
    assert kept == remote
    assert {path: text for path, text in local.items() if text != base.get(path)}.items() <= folder.items()


@given(base=texts, local=texts, remote=texts, blind=st.sampled_from(["", "/c", "/a"]))
def test_unreadable_paths_are_left_alone(
    base: dict[str, str], local: dict[str, str], remote: dict[str, str], blind: str
) -> None:
    steps = merge(base, local, store(remote), frozen=None, blind={blind})
    assert not [step for step in steps if f"{step.path}/".startswith(f"{blind}/")]


def test_an_emptied_folder_is_restored() -> None:
    both = {"/a": "1", "/b": "2"}
    assert [type(step) for step in merge(both, {}, store(both), frozen=None)] == [Pull, Pull]
    assert [type(step) for step in merge({"/a": "1"}, {}, store({"/a": "1"}), frozen=None)] == [Erase]


def test_a_moved_file_moves_its_memory() -> None:
    was = {"/a": "1", "/b": "2"}
    steps = merge(was, {"/b": "2", "/c/d": "1"}, store(was), frozen=None)
    assert [(type(step), step.path) for step in steps] == [(Same, "/b"), (Move, "/c/d")]
