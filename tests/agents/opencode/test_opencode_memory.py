"""A session that has left keeps nothing of the adapter's memory, so that directories and keys cannot fill it."""

import os
from pathlib import Path

import anyio
import fake_opencode
from tests.agents.collecting_listener import CollectingListener
from tests.reachable import texts_with

from everyagent.agents.adapter import Launch
from everyagent.agents.adapter_context import AdapterContext
from everyagent.agents.opencode import program
from everyagent.agents.opencode.adapter import OpencodeAdapter
from everyagent.agents.supervision import TaskSupervisor
from everyagent.model.ids import new_id


def launch(folder: Path, name: str, **env: str) -> Launch:
    """A session in the directory `name`. Sessions with the same `env` share a server."""
    directory = folder / name
    directory.mkdir()
    return Launch(
        session_id=name,
        directory=directory,
        scratch=directory,
        permission_mode="default",
        agent_mode="build",
        env={"HOME": str(folder), **env},
    )


async def test_nothing_is_kept_of_directories_and_servers_that_were_left(tmp_path: Path) -> None:
    left, ended = new_id("directory_"), new_id("server_")
    environment = {program.BINARY_VARIABLE: fake_opencode.installed(tmp_path), "PATH": os.environ["PATH"]}
    async with anyio.create_task_group() as tasks:
        adapter = OpencodeAdapter(AdapterContext(TaskSupervisor(tasks), tmp_path, environment=environment))
        await adapter.open(launch(tmp_path, "stays"), CollectingListener())
        for number in range(2):
            on_shared = await adapter.open(launch(tmp_path, f"{left}{number}"), CollectingListener())
            assert texts_with(f"{left}{number}", adapter)
            await on_shared.close()
        for number in range(2):
            own_server = launch(tmp_path, f"own-{number}", SERVER=f"{ended}{number}")
            on_own = await adapter.open(own_server, CollectingListener())
            assert texts_with(f"{ended}{number}", adapter)
            await on_own.close()
        # The pool forgets servers that have ended when it starts the next one.
        await adapter.open(launch(tmp_path, "later", SERVER="later"), CollectingListener())
        assert texts_with(left, adapter) == []
        assert texts_with(ended, adapter) == []
        await adapter.close()
        tasks.cancel_scope.cancel()
