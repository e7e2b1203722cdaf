"""Real objects of the Managed Agents API for the placeholder ids in the test suites of SDKs."""

import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

import httpx2
import msgspec

from everyagent.model.ids import new_id
from everyagent.testing.daemon import NO_TLS, TOKEN
from tests.waiting import LIMIT_SECONDS, wait_until

T = TypeVar("T")
Ids = dict[str, str]
_SKILL = b"---\nname: a-skill\ndescription: A skill.\n---\nText.\n"
_MODEL = "mock-small"
_TOOLSET = {"type": "agent_toolset_20260401"}
_COMMAND = '[custom name=bash input={"command":"uname"}]'


class _Id(msgspec.Struct):
    id: str


class _Ids(msgspec.Struct):
    data: list[_Id]


class _Resource(_Id):
    type: str


class _Resources(msgspec.Struct):
    data: list[_Resource]


class Objects:
    """Makes one object of a kind, with everything that it needs. Requests that change nothing share objects."""

    def __init__(self, url: str) -> None:
        self._http = httpx2.Client(
            base_url=f"{url}/anthropic/v1",
            headers={"authorization": f"Bearer {TOKEN}", "anthropic-beta": "managed-agents-2026-04-01"},
            verify=NO_TLS,
            timeout=LIMIT_SECONDS,
        )
        self._lock = threading.RLock()
        self._shared: dict[str, Ids] = {}
        self._makers: dict[str, Callable[[], Ids]] = {
            "agents": self._agent,
            "environments": self._environment,
            "sessions": self._session,
            "vaults": self._vault,
            "memory_stores": self._memory_store,
            "skills": self._skill,
            "files": self._file,
            "work": self._work,
            "claimed work": self._claimed_work,
            "deployments": self._deployment,
            "deployment_runs": self._deployment_run,
        }

    def close(self) -> None:
        self._http.close()

    def of(self, kind: str, *, fresh: bool) -> Ids:
        """The ids of a family of objects: by the name of the collection for the one itself, and for those in it."""
        if fresh:
            return self._makers[kind]()
        with self._lock:
            if kind not in self._shared:
                self._shared[kind] = self._makers[kind]()
            return self._shared[kind]

    def _made(self, path: str, body: Mapping[str, object]) -> str:
        return self._decoded(self._http.post(path, json=body), _Id).id

    def _first(self, path: str) -> str:
        return self._decoded(self._http.get(path), _Ids).data[0].id

    def _decoded(self, answer: httpx2.Response, into: type[T]) -> T:
        assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.text}"
        return msgspec.json.decode(answer.content, type=into)

    def _agent(self) -> Ids:
        return {"agents": self._made("/agents", {"name": "An agent", "model": _MODEL, "tools": [_TOOLSET]})}

    def _environment(self) -> Ids:
        return {"environments": self._made("/environments", {"name": new_id("env "), "config": {"type": "cloud"}})}

    def _session(self, environment: str | None = None) -> Ids:
        agent = self.of("agents", fresh=False)["agents"]
        where = environment or self.of("environments", fresh=False)["environments"]
        repository = {"type": "github_repository", "url": "https://example.org/a.git", "authorization_token": "a-token"}
        resources = [{"type": "file", "file_id": self._file()["files"]}, repository]
        made = self._made("/sessions", {"agent": agent, "environment_id": where, "resources": resources})
        listed = self._decoded(self._http.get(f"/sessions/{made}/resources"), _Resources).data
        placed = {each.type: each.id for each in listed}
        return {
            "sessions": made,
            "resources": placed["file"],
            "repositories": placed["github_repository"],
            "threads": self._first(f"/sessions/{made}/threads"),
        }

    def _vault(self) -> Ids:
        made = self._made("/vaults", {"display_name": "A vault"})
        auth = {"type": "static_bearer", "token": "a-token", "mcp_server_url": "https://mcp.example.org"}
        return {"vaults": made, "credentials": self._made(f"/vaults/{made}/credentials", {"auth": auth})}

    def _memory_store(self) -> Ids:
        made = self._made("/memory_stores", {"name": "A store"})
        memory = self._made(f"/memory_stores/{made}/memories", {"path": "/a", "content": "text"})
        version = self._first(f"/memory_stores/{made}/memory_versions")
        answer = self._http.post(f"/memory_stores/{made}/memories/{memory}", json={"content": "newer"})
        assert answer.is_success, answer.text  # only an earlier version can be redacted
        return {"memory_stores": made, "memories": memory, "memory_versions": version}

    def _skill(self) -> Ids:
        answer = self._http.post("/skills", files={"files[]": ("a-skill/SKILL.md", _SKILL)})
        made = self._decoded(answer, _Id).id
        return {"skills": made, "versions": self._first(f"/skills/{made}/versions")}

    def _file(self) -> Ids:
        answer = self._http.post("/files", files={"file": ("a.txt", b"text")})
        return {"files": self._decoded(answer, _Id).id}

    def _work(self) -> Ids:
        """A self-hosted environment with one piece of work, which was polled."""
        body = {"name": new_id("env "), "config": {"type": "self_hosted"}}
        environment = self._made("/environments", body)
        session = self._session(environment)["sessions"]
        message = {"type": "user.message", "content": [{"type": "text", "text": _COMMAND}]}
        self._http.post(f"/sessions/{session}/events", json={"events": [message]}).raise_for_status()
        path = f"/environments/{environment}/work"
        wait_until(lambda: self._http.get(f"{path}/poll").content not in (b"", b"null"))
        return {"environments": environment, "work": self._first(path)}

    def _claimed_work(self) -> Ids:
        ids = self._work()
        self._http.post(f"/environments/{ids['environments']}/work/{ids['work']}/ack").raise_for_status()
        return ids

    def _deployment(self) -> Ids:
        message = {"type": "user.message", "content": [{"type": "text", "text": "Hello"}]}
        body = {
            "name": "A deployment",
            "agent": self.of("agents", fresh=False)["agents"],
            "environment_id": self.of("environments", fresh=False)["environments"],
            "initial_events": [message],
        }
        return {"deployments": self._made("/deployments", body)}

    def _deployment_run(self) -> Ids:
        return {"deployment_runs": self._made(f"/deployments/{self._deployment()['deployments']}/run", {})}
