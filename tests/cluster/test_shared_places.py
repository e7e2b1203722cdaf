"""Files, secrets and outputs on one machine work from every node. Errors name those of a node that was lost."""

import hashlib
import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import cast

import pytest

from tests.cluster.nodes import NodeProcess, end
from tests.managed.raw import TOOLSET, Raw
from tests.postgres.server import PostgresServer
from tests.s3.server import S3Server
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def nodes(
    postgres: PostgresServer, s3: S3Server, tmp_path_factory: pytest.TempPathFactory
) -> Generator[list[NodeProcess]]:
    """Two nodes with nothing in common but the database, the bucket and the key, which comes to each in another way."""
    folder = tmp_path_factory.mktemp("places")
    key = folder / "key"
    key.write_text(os.urandom(32).hex() + "\n")
    store, blobs = postgres.new_schema(), s3.new_url()
    made: list[NodeProcess] = []
    for number, flags in enumerate((("--vault-key-file", str(key)), ("--vault-key-command", f"cat '{key}'"))):
        node = NodeProcess(folder / f"node{number}", store, "--blobs", blobs, *flags)
        node.environment |= s3.environment
        node.start()
        made.append(node)
    yield made
    for node in made:
        end(node)


def turn(raw: Raw, text: str) -> str:
    """Everything in the log after a turn."""
    before = idles(raw)
    raw.say(text)
    wait_until(lambda: idles(raw) > before)
    return json.dumps(raw.events())


def idles(raw: Raw) -> int:
    return sum(event["type"] == "session.status_idle" for event in raw.events())


def test_files_secrets_and_outputs_work_from_any_node_and_lost_ones_are_named(nodes: list[NodeProcess]):
    here, there = Raw(nodes[0]), Raw(nodes[1])
    content = os.urandom(9 << 20)
    file = here.upload("a.bin", content)
    assert there.answer("GET", f"/files/{file}/content").content == content
    vault = here.vault({"SERVICE_KEY": "hush-hush"})
    resource = {"type": "file", "file_id": file, "mount_path": "/mnt/session/uploads/a.bin"}
    session_id = here.session_id = there.create(TOOLSET, vault_ids=[vault], resources=[resource])

    # The session runs on the node where it was made, with the file and the secret of the other one.
    secret, digest = (hashlib.sha256(data).hexdigest() for data in (b"hush-hush\n", content))
    command = "echo $SERVICE_KEY | sha256sum; sha256sum mnt/session/uploads/a.bin; echo made > mnt/session/outputs/o"
    said = turn(here, f'[tool command="{command}"]')
    assert (secret in said, digest in said) == (True, True), said
    listed = here.call("GET", f"/files?scope_id={session_id}")
    names = {str(each["filename"]) for each in cast("list[dict[str, object]]", listed["data"])}
    assert names == {"a.bin", "o"}

    there.close()
    nodes[1].kill()
    wait_until(lambda: here.answer("POST", here.path, {"title": "taken over"}).status_code == 200)
    said = turn(here, '[tool command="echo $SERVICE_KEY | sha256sum; sha256sum mnt/session/uploads/a.bin; ls -R mnt"]')
    assert "ran on another machine before" in said
    assert (said.count(secret), said.count(digest)) == (2, 2), said
    said = turn(here, "[text words=1]")
    assert said.count("ran on another machine before") == 1
    here.close()


def test_the_folder_of_workspaces_is_known_again_when_it_is_mounted_by_several_nodes(tmp_path: Path):
    from everyagent.managed.workspace.storage import _id_of

    first = _id_of(tmp_path / "shared")
    assert (_id_of(tmp_path / "shared"), _id_of(tmp_path / "other") == first) == (first, False)
    assert [path.name for path in (tmp_path / "shared").iterdir()] == [".storage"]
