"""Fields whose names in the code differ from those in the database."""

import msgspec

from everyagent.managed.memory.mounts import MountBody
from everyagent.sessions.launch.config import AnsweredIds


def test_answers_that_an_agent_does_not_have_yet_keep_their_stored_name() -> None:
    stored = b'{"untold":["perm_1"],"granted":["perm_2"]}'
    assert msgspec.json.decode(stored, type=AnsweredIds).undelivered == ["perm_1"]
    assert msgspec.json.encode(msgspec.json.decode(stored, type=AnsweredIds)) == stored


def test_the_problems_of_a_memory_mount_keep_their_stored_names() -> None:
    stored = b'{"name":"m","mount_path":"/m","read_only":false,"files":{},"told":["a"],"untold":["b"]}'
    body = msgspec.json.decode(stored, type=MountBody)
    assert (body.reported, body.unreported) == (["a"], ["b"])
    assert msgspec.json.encode(body) == stored
