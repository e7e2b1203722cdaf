"""One of everything that a workspace can have, for tests with a foreign key."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import httpx2

from everyagent.api.routing import Route
from tests.managed.git_stage import git
from tests.waiting import LIMIT_SECONDS

#: Bodies without which a route would refuse the request before it looks for anything.
BODIES: dict[str, object] = {
    "send_message": {"message": "x"},
    "stream_message": {"message": "x"},
    "reply_to_permission": {"reply": "once"},
    "reply_to_question": {"answers": [["x"]]},
    "reply_to_tool": {"output": "x"},
    "call_custom_tools": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    "update_session": {"title": "x"},
    "rewind_session": {"sequence": 1},
    "create_environment_key": {"name": "x"},
    "update_work": {"metadata": {"a": "b"}},
    "send_managed_events": {"events": [{"type": "user.message", "content": [{"type": "text", "text": "x"}]}]},
    "add_session_resource": {"type": "file", "file_id": "unknown", "mount_path": "/mnt/a"},
    "update_session_resource": {"authorization_token": "x"},
    "create_credential": {
        "auth": {"type": "static_bearer", "mcp_server_url": "https://mcp.example", "token": "x"},
    },
    "create_memory": {"path": "/b.md", "content": "x"},
    "update_memory_version": {},
}
#: A multipart body with one skill.
SKILL = (
    b'--b\r\ncontent-disposition: form-data; name="files[]"; filename="a/SKILL.md"\r\n\r\n'
    b"---\nname: secret\ndescription: a skill\n---\nx\r\n--b--\r\n"
)
MULTIPART = {"content-type": "multipart/form-data; boundary=b"}


#: Parameters whose things cannot be made here, with the reason.
UNKNOWN = {
    "tool_id": "custom tools need a daemon with an address",
}


class Belongings:
    """One of everything that a workspace can have; the ids by the name of the path parameter.

    Parameters of routes that begin with a path of `elsewhere` have other ids.
    """

    def __init__(self, ids: dict[str, str], elsewhere: dict[str, dict[str, str]]) -> None:
        self.ids = ids
        self._elsewhere = elsewhere

    def path_of(self, route: Route) -> str:
        ids = self.ids | UNKNOWN
        for beginning, others in self._elsewhere.items():
            ids |= others if route.path.startswith(beginning) else {}
        return re.sub(r"{(\w+)}", lambda name: "unknown" if name[1] in UNKNOWN else ids[name[1]], route.path)

    def words(self) -> list[str]:
        """Everything that nobody else may see."""
        return [*self.ids.values(), *(each for others in self._elsewhere.values() for each in others.values())]


async def made(client: httpx2.AsyncClient, path: str, body: object) -> str:
    response = await client.post(path, json=body)
    assert response.status_code == 200, response.text
    return str(response.json()["id"])


async def _found(read: Callable[[], Awaitable[str | None]]) -> str:
    with anyio.fail_after(LIMIT_SECONDS):
        while (found := await read()) is None:
            await anyio.sleep(0.02)
    return found


async def _asked(client: httpx2.AsyncClient, folder: Path, directive: str) -> str:
    """A session `secret-DIRECTIVE` that waits for an answer to its ask, whose id is returned."""
    path = f"/v1/sessions/secret-{directive}"
    assert (await client.post(path, json={"agent": "mock", "directory": str(folder)})).status_code == 200
    assert (await client.post(f"{path}/messages", json={"message": f"[{directive}]"})).status_code == 204

    async def ask() -> str | None:
        asks = (await client.get(f"{path}/asks")).json()["asks"]
        return asks[0]["askId"] if asks else None

    return await _found(ask)


async def _busy(client: httpx2.AsyncClient, folder: Path) -> tuple[str, str]:
    """A session `secret-busy`, with the ids of a subagent that runs and of a message that waits."""
    path = "/v1/sessions/secret-busy"
    assert (await client.post(path, json={"agent": "mock", "directory": str(folder)})).status_code == 200
    command = '[subagent command="tail -f /dev/null"]'
    assert (await client.post(f"{path}/messages", json={"message": command})).status_code == 204

    async def task() -> str | None:
        events = (await client.get(f"{path}/events", params={"types": "item.completed"})).json()["events"]
        items = [event["data"]["item"] for event in events]
        tasks = [item["item_id"] for item in items if item["kind"] == "tool_call" and item["name"] == "task"]
        return tasks[0] if tasks else None

    subagent = await _found(task)
    waiting = await client.post(f"{path}/messages", json={"message": "secretword"})
    return subagent, waiting.headers["x-item-id"]


async def _with_worktree(client: httpx2.AsyncClient, repository: Path) -> str:
    repository.mkdir()
    (repository / "secret.txt").write_text("secret")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        git(repository, *words)
    body = {"agent": "mock", "directory": str(repository), "worktree": True}
    session = await client.post("/v1/sessions/secret-worktree", json=body)
    assert session.status_code == 200, session.text
    return "secret-worktree"


async def _deployed(client: httpx2.AsyncClient, agent: str, environment: str) -> tuple[str, str]:
    """The ids of a deployment and of its run."""
    root = "/anthropic/v1"
    message = {"type": "user.message", "content": [{"type": "text", "text": "secretword"}]}
    asked = {"name": "secret", "agent": agent, "environment_id": environment, "initial_events": [message]}
    deployment = await made(client, f"{root}/deployments", asked)
    return deployment, await made(client, f"{root}/deployments/{deployment}/run", {})


async def _work(client: httpx2.AsyncClient, agent: str, environment: str) -> str:
    """The id of what waits for a worker of the environment."""
    root = "/anthropic/v1"
    session = await made(client, f"{root}/sessions", {"agent": agent, "environment_id": environment})
    message = {"type": "user.message", "content": [{"type": "text", "text": "secretword"}]}
    sent = await client.post(f"{root}/sessions/{session}/events", json={"events": [message]})
    assert sent.status_code == 200, sent.text

    async def work() -> str | None:
        works = (await client.get(f"{root}/environments/{environment}/work")).json()["data"]
        return works[0]["id"] if works else None

    return await _found(work)


async def belongings(client: httpx2.AsyncClient, folder: Path, key: str) -> Belongings:
    """`key` is the id of the client's own."""
    session = await client.post("/v1/sessions/secret-session", json={"agent": "mock", "directory": str(folder)})
    assert session.status_code == 200, session.text
    turn = await client.post("/v1/sessions/secret-session/messages/stream", json={"message": "[say secretword]"})
    assert turn.status_code == 200
    (folder / "secret.txt").write_text("secret")
    root = "/anthropic/v1"
    agent = await made(client, f"{root}/agents", {"name": "secret", "model": "mock-model"})
    environment = await made(client, f"{root}/environments", {"name": "secret", "config": {"type": "self_hosted"}})
    cloud = await made(client, f"{root}/environments", {"name": "secret cloud"})
    vault = await made(client, f"{root}/vaults", {"display_name": "secret"})
    store = await made(client, f"{root}/memory_stores", {"name": "secret"})
    memory = await made(client, f"{root}/memory_stores/{store}/memories", {"path": "/a.md", "content": "secret"})
    versions = (await client.get(f"{root}/memory_stores/{store}/memory_versions")).json()["data"]
    file = (await client.post(f"{root}/files", files={"file": ("a.txt", b"secret")})).json()["id"]
    managed = await made(client, f"{root}/sessions", {"agent": agent, "environment_id": cloud})
    auth = BODIES["create_credential"]
    credential = await made(client, f"{root}/vaults/{vault}/credentials", auth)
    skill = await client.post(f"{root}/skills", content=SKILL, headers=MULTIPART)
    assert skill.status_code == 200, skill.text
    resource = {"type": "file", "file_id": file, "mount_path": "/mnt/a.txt"}
    resource_id = await made(client, f"{root}/sessions/{managed}/resources", resource)
    threads = (await client.get(f"{root}/sessions/{managed}/threads")).json()["data"]
    worker = await made(client, f"{root}/environments/{environment}/keys", {"name": "secret"})
    hook = await client.post("/v1/webhooks", json={"url": "https://93.184.215.14/", "events": ["error"]})
    assert hook.status_code == 200, hook.text
    runner = await client.post("/v1/runner-keys", json={"name": "secret"})
    assert runner.status_code == 200, runner.text
    deployment, run = await _deployed(client, agent, cloud)
    subagent, waiting = await _busy(client, folder)
    ids = {
        "session_id": "secret-session",
        "deployment_id": deployment,
        "run_id": run,
        "work_id": await _work(client, agent, environment),
        "permission_id": await _asked(client, folder, "ask"),
        "question_id": await _asked(client, folder, "question"),
        "agent_id": agent,
        "environment_id": environment,
        "vault_id": vault,
        "memory_store_id": store,
        "memory_id": memory,
        "memory_version_id": versions[0]["id"],
        "file_id": file,
        "key_id": worker,
        "webhook_id": hook.json()["webhook"]["webhookId"],
        "credential_id": credential,
        "skill_id": skill.json()["id"],
        "version": skill.json()["latest_version_id"],
        "resource_id": resource_id,
        "thread_id": threads[0]["id"],
    }
    session = "/v1/sessions/{session_id}"
    elsewhere = {
        "/anthropic/v1/sessions": {"session_id": managed},
        "/v1/keys": {"key_id": key},
        "/v1/runner-keys": {"key_id": runner.json()["key"]["keyId"]},
        f"{session}/worktree": {"session_id": await _with_worktree(client, folder.parent / "repository")},
        f"{session}/permissions": {"session_id": "secret-ask"},
        f"{session}/questions": {"session_id": "secret-question"},
        f"{session}/subagents": {"session_id": "secret-busy", "item_id": subagent},
        f"{session}/messages/queue/": {"session_id": "secret-busy", "item_id": waiting},
    }
    return Belongings(ids, elsewhere)
