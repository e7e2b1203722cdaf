"""Sessions with memory stores: folders and stores are synchronized after each turn."""

import hashlib

import anthropic
from loose import Loose
from refused import refused
from stage import Talk, environment, message, new_agent, one

NEW = not anthropic.__version__.startswith("0.")


def flow(client: Loose, agent: str) -> None:
    stores = client.beta.memory_stores
    notes = stores.create(name="Ada's Notes!", description="What Ada said.")
    rules = stores.create(name="ada s notes", description="What holds.")
    known = stores.memories.create(notes.id, path="/food/cake.md", content="Ada likes cake.\n")
    stores.memories.create(rules.id, path="/rule.md", content="Be brief.\n")
    session = attach_stores(client, agent, notes, rules)
    talk = Talk(client, session.id)
    assert run(talk, "cat mnt/memory/ada-s-notes/food/cake.md mnt/memory/ada-s-notes-2/rule.md") == (
        "Ada likes cake.\nBe brief.\n"
    )
    write_memories(client, session, notes, known, talk)
    keep_read_only_store(client, session, rules, talk)
    change_store_meanwhile(client, session, notes, talk)
    talk.close()
    client.beta.sessions.delete(session.id)
    assert [each.id for each in sessions_with_store(client, notes)] == []
    assert paths(stores, notes) == ["/both.md", "/food/tea.md"], "memory outlives its sessions"
    for store in (notes, rules):
        stores.delete(store.id)


def attach_stores(client: Loose, agent: str, notes: Loose, rules: Loose) -> Loose:
    sessions, made = client.beta.sessions, new_agent(client, agent)
    wanted = [
        {"type": "memory_store", "memory_store_id": notes.id, "instructions": "Write down what she likes."},
        {"type": "memory_store", "memory_store_id": rules.id, "access": "read_only"},
    ]
    session = sessions.create(agent=made.id, environment_id=environment(client), resources=wanted)
    first, second = session.resources
    assert (first.type, first.memory_store_id, first.access) == ("memory_store", notes.id, "read_write")
    assert (first.name, first.description) == ("Ada's Notes!", "What Ada said.")
    assert (first.instructions, second.instructions) == ("Write down what she likes.", None)
    assert [each.mount_path for each in (first, second)] == ["/mnt/memory/ada-s-notes", "/mnt/memory/ada-s-notes-2"]
    assert [each.id for each in sessions_with_store(client, rules)] == [session.id]
    assert [each.type for each in sessions.resources.list(session.id)] == ["memory_store", "memory_store"]
    assert sessions.resources.retrieve(rules.id, session_id=session.id).access == "read_only"
    refused(anthropic.BadRequestError, lambda: sessions.resources.delete(rules.id, session_id=session.id))
    again = {"agent": made.id, "environment_id": environment(client)}
    refused(anthropic.BadRequestError, lambda: sessions.create(**again, resources=[wanted[0], wanted[0]]))
    missing = {"type": "memory_store", "memory_store_id": "memstore_none"}
    refused(anthropic.NotFoundError, lambda: sessions.create(**again, resources=[missing]))
    return session


def write_memories(client: Loose, session: Loose, notes: Loose, known: Loose, talk: Talk) -> None:
    stores = client.beta.memory_stores
    run(talk, "cd mnt/memory/ada-s-notes; echo tea >> food/cake.md; echo new > both.md; cp both.md gone.md; ls")
    there = {"memory_store_id": notes.id}
    assert stores.memories.retrieve(known.id, **there).content == "Ada likes cake.\ntea\n"
    by_session = stores.memory_versions.list(notes.id, session_id=session.id)
    assert sorted(str(each.path) for each in by_session) == ["/both.md", "/food/cake.md", "/gone.md"]
    (version,) = stores.memory_versions.list(notes.id, memory_id=known.id, operation="modified")
    assert (version.created_by.type, version.created_by.session_id) == ("session_actor", session.id)
    run(talk, "cd mnt/memory/ada-s-notes; mv food/cake.md food/tea.md; rm gone.md; ls")
    assert paths(stores, notes) == ["/both.md", "/food/tea.md"]
    assert stores.memories.retrieve(known.id, **there).path == "/food/tea.md", "it is the same memory, elsewhere"


def keep_read_only_store(client: Loose, session: Loose, rules: Loose, talk: Talk) -> None:
    """Changes in the folder of a read-only store are undone."""
    stores = client.beta.memory_stores
    change = "cd mnt/memory/ada-s-notes-2; chmod u+w . rule.md; rm -f rule.md; echo Shout. > rule.md; ls"
    assert one(talk.say(message(f'[tool command="{change}"]')), "agent.tool_result")
    talk.say(message("Go on."))
    assert [each.content for each in stores.memories.list(rules.id, view="full")] == ["Be brief.\n"]
    assert run(talk, "cat mnt/memory/ada-s-notes-2/rule.md") == "Be brief.\n"
    events = client.beta.sessions.events.list(session.id)
    assert [str(each.error.message) for each in events if each.type == "session.error"] == [
        "the memory store 'ada s notes': /rule.md was restored from the store: the store is read-only here"
    ]


def change_store_meanwhile(client: Loose, session: Loose, notes: Loose, talk: Talk) -> None:
    """A change in the store reaches the session's folder before the next turn."""
    stores = client.beta.memory_stores
    memory = next(each for each in stores.memories.list(notes.id) if each.path == "/both.md")
    stores.memories.update(memory.id, memory_store_id=notes.id, content="the store's\n")
    assert run(talk, "cat mnt/memory/ada-s-notes/both.md") == "the store's\n"
    assert memory.content_sha256 == hashlib.sha256(b"new\n").hexdigest()


def sessions_with_store(client: Loose, store: Loose) -> Loose:
    """Sessions with this store. The oldest SDK has no parameter for the filter."""
    if NEW:
        return client.beta.sessions.list(memory_store_id=store.id)
    return client.beta.sessions.list(extra_query={"memory_store_id": store.id})


def paths(stores: Loose, store: Loose) -> list[str]:
    return [str(each.path) for each in stores.memories.list(store.id)]


def run(talk: Talk, command: str) -> str:
    result = one(talk.say(message(f'[tool command="{command}"]')), "agent.tool_result")
    return str(result.content[0].text)
