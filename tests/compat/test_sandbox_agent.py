"""The methods of sandbox-agent 0.1.11's SDK, on a daemon that is started by its command `server`.

That version is in no registry, so its calls are written again. The run of the SDK itself is in docs/compatibility.md.
"""

import io
import tarfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import NamedTuple

import httpx2
import msgspec
import pytest

from everyagent.api.universal.session_requests import CreateSessionRequest, translated
from everyagent.cli.server_flags import serve_words
from everyagent.model.ids import new_id
from everyagent.model.tools import McpRemote
from everyagent.testing.daemon import NO_TLS, TOKEN, DaemonProcess
from tests.compat import sandbox_agent_types as types
from tests.compat.rows import compat_row
from tests.compat.sandbox_agent_client import Json, Refused, SandboxAgent, event
from tests.managed.git_stage import git, git_stage
from tests.waiting import wait_until

row = compat_row("sandbox-agent-calls")


MCP = "http://127.0.0.1:9/mcp"
PAGES = ("https://app.example.org", "http://localhost:5173")


class Stage(NamedTuple):
    client: SandboxAgent
    url: str
    folder: Path

    def create(self, **fields: object) -> str:
        session = new_id("sa-")
        made = self.client.post(f"/sessions/{session}", {"agent": "mock", **fields}, types.Created)
        assert made.healthy
        return session

    def turn(self, session: str, message: str) -> list[types.Event]:
        return list(self.client.stream("POST", f"/sessions/{session}/messages/stream", {"message": message}))

    def refused(self, call: Callable[[], object], *statuses: int) -> None:
        with pytest.raises(Refused) as caught:
            call()
        assert caught.value.problem.status in statuses


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stage]:
    folder = tmp_path_factory.mktemp("sandbox-agent")
    cors = [word for page in PAGES for word in ("-O", page)]
    flags = (*cors, "-M", "GET", "-A", "x-anything", "-C", "--no-telemetry", "--isolation", "none")
    daemon = DaemonProcess(folder / "data", *flags, command="server")
    daemon.start()
    client = SandboxAgent(daemon.url)
    yield Stage(client, daemon.url, folder)
    client.close()
    assert daemon.stop() == 0


def test_health_agents_modes_models_and_install(stage: Stage) -> None:
    client = stage.client
    assert client.get("/health", types.Health).status == "ok"
    agents = {each.id: each for each in client.get("/agents", types.Agents).agents}
    assert agents["mock"].installed
    for agent in ("mock", "claude", "codex", "opencode", "amp"):
        assert client.get(f"/agents/{agent}/modes", types.Modes).modes
        client.get(f"/agents/{agent}/models", types.Models)
    client.tell("/agents/mock/install", {})
    client.tell("/agents/mock/install", {"reinstall": False})
    stage.refused(lambda: client.tell("/agents/none/install", {}), 400, 404)
    for kind in ("modes", "models"):
        stage.refused(lambda kind=kind: client.get(f"/agents/none/{kind}", types.Modes), 400, 404)


LOCAL: Json = {"type": "local", "command": "true"}
REMOTE: Json = {"type": "remote", "url": MCP}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"agentMode": "build", "permissionMode": "default", "model": None, "variant": None, "title": "A title"},
        dict.fromkeys(("agentMode", "permissionMode", "agentVersion", "directory", "mcp", "skills", "title")),
        {"agentMode": "plan", "permissionMode": "plan"},
        {"permissionMode": "bypass"},
        {"permissionMode": "acceptEdits"},
        {"skills": {"sources": []}},
        {"mcp": {"a": LOCAL | {"args": ["x"], "env": {"A": "b"}, "cwd": "/tmp", "enabled": True, "timeoutMs": 1000}}},
        {"mcp": {"a": LOCAL | {"command": ["true", "x"], "args": ["y"]}}},
        {"mcp": {"a": LOCAL | dict.fromkeys(("env", "cwd", "enabled", "timeoutMs"))}},
        {"mcp": {"a": LOCAL | {"type": "stdio"}, "b": REMOTE | {"type": "http"}}},
        {"mcp": {"a": REMOTE | {"headers": {"x-a": "b"}, "transport": "sse", "enabled": False, "timeoutMs": 5}}},
        {"mcp": {"a": REMOTE | dict.fromkeys(("headers", "bearerTokenEnvVar", "envHeaders", "oauth", "transport"))}},
        {"mcp": {"a": REMOTE | {"oauth": False}}},
    ],
)
def test_a_session_is_created_from_every_field(stage: Stage, fields: Json) -> None:
    session = stage.create(**fields)
    shown = {each.session_id: each for each in stage.client.get("/sessions", types.Sessions).sessions}
    assert list(shown[session].mcp or {}) == list(fields.get("mcp") or {})  # pyright: ignore[reportArgumentType, reportCallIssue]


@pytest.mark.parametrize(
    ("fields", "warning"),
    [
        ({"agentVersion": "1.2.3"}, "agentVersion has no effect"),
        (
            {"mcp": {"a": REMOTE | {"oauth": {"clientId": "a", "clientSecret": "b", "scope": "c"}}}},
            "mcp.a.oauth has no",
        ),
        ({"mcp": {"a": REMOTE | {"bearerTokenEnvVar": "NOT_SET"}}}, "NOT_SET is not in `env` or `secrets`"),
    ],
)
def test_a_field_without_effect_is_taken_with_a_warning(stage: Stage, fields: Json, warning: str) -> None:
    answer = httpx2.post(
        f"{stage.url}/v1/sessions/{new_id('sa-')}",
        json={"agent": "mock", **fields},
        headers={"authorization": f"Bearer {TOKEN}"},
        verify=NO_TLS,
    )
    assert answer.status_code == 200, answer.text
    assert warning in answer.headers["x-everyagent-warning"]


def test_a_wrong_session_is_refused(stage: Stage) -> None:
    session = stage.create()
    path = f"/sessions/{session}"
    stage.refused(lambda: stage.client.post(path, {"agent": "mock"}, types.Created), 409)
    stage.refused(lambda: stage.create(agent="none"), 400)
    stage.refused(lambda: stage.create(permissionMode="none"), 400)
    stage.refused(lambda: stage.create(skills={"sources": [{"type": "local", "source": "relative"}]}), 400)


def test_messages_and_events(stage: Stage) -> None:
    client, session = stage.client, stage.create()
    (stage.folder / "note.txt").write_text("a note")
    attached = {"path": str(stage.folder / "note.txt"), "mime": None, "filename": None}
    client.tell(f"/sessions/{session}/messages", {"message": "hello", "attachments": [attached]})

    def ended() -> list[types.Event] | None:
        page = client.get(f"/sessions/{session}/events", types.Events, offset=0, limit=500, includeRaw=True)
        return page.events if any(each.type == "turn.ended" for each in page.events) else None

    told = [event(each) for each in wait_until(ended)]
    assert [each.sequence for each in told] == list(range(1, len(told) + 1))
    turns = [each.data for each in told if isinstance(each.data, types.TurnStarted | types.TurnEnded)]
    assert [each.phase for each in turns] == ["started", "ended"]
    first = client.get(f"/sessions/{session}/events", types.Events, limit=1, include_raw=False)
    assert (len(first.events), first.has_more) == (1, True)
    streamed = client.stream("GET", f"/sessions/{session}/events/sse", offset=1)
    assert [next(streamed).sequence for _ in told[1:]] == [each.sequence for each in told[1:]]
    streamed.close()
    again = stage.turn(session, "and again")
    assert again[0].sequence > len(told)
    assert again[-1].type == "turn.ended"


@pytest.mark.parametrize(
    ("reply", "decision"), [("once", "accept"), ("always", "accept_for_session"), ("reject", "reject")]
)
def test_permissions_are_answered(stage: Stage, reply: str, decision: str) -> None:
    session = stage.create()
    resolved: list[types.PermissionEvent] = []
    for each in stage.client.stream("POST", f"/sessions/{session}/messages/stream", {"message": "[ask]"}):
        if isinstance(each.data, types.PermissionEvent) and each.type == "permission.requested":
            path = f"/sessions/{session}/permissions/{each.data.permission_id}/reply"
            stage.client.tell(path, {"reply": reply})
        elif isinstance(each.data, types.PermissionEvent):
            resolved.append(each.data)
    assert [each.decision for each in resolved] == [decision]


@pytest.mark.parametrize(
    ("call", "body", "status"),
    [
        ("reply", {"answers": [["Green"]]}, "answered"),
        ("reply", {"answers": []}, "answered"),
        ("reject", None, "rejected"),
    ],
)
def test_questions_are_answered(stage: Stage, call: str, body: Json | None, status: str) -> None:
    session = stage.create()
    resolved: list[types.QuestionEvent] = []
    for each in stage.client.stream("POST", f"/sessions/{session}/messages/stream", {"message": "[question]"}):
        if isinstance(each.data, types.QuestionEvent) and each.type == "question.requested":
            stage.client.tell(f"/sessions/{session}/questions/{each.data.question_id}/{call}", body)
        elif isinstance(each.data, types.QuestionEvent):
            resolved.append(each.data)
    assert [each.status for each in resolved] == [status]


def test_unknown_ids_are_refused(stage: Stage) -> None:
    client, session = stage.client, stage.create()
    stage.refused(lambda: client.tell(f"/sessions/{session}/permissions/x/reply", {"reply": "once"}), 400, 404)
    stage.refused(lambda: client.tell(f"/sessions/{session}/questions/x/reply", {"answers": []}), 400, 404)
    stage.refused(lambda: client.tell(f"/sessions/{session}/questions/x/reject"), 400, 404)
    stage.refused(lambda: client.tell("/sessions/none/messages", {"message": "x"}), 404)
    stage.refused(lambda: client.tell("/sessions/none/terminate"), 404)
    stage.refused(lambda: client.get("/sessions/none/events", types.Events), 404)
    stage.refused(lambda: next(client.stream("GET", "/sessions/none/events/sse")), 404)
    stage.refused(lambda: stage.turn("none", "x"), 404)
    stranger = SandboxAgent(stage.url, "a wrong token")
    stage.refused(lambda: stranger.get("/agents", types.Agents), 401)
    stranger.close()


def test_a_session_is_terminated_twice(stage: Stage) -> None:
    client, session = stage.client, stage.create()
    client.tell(f"/sessions/{session}/terminate")
    client.tell(f"/sessions/{session}/terminate")
    last = event(client.get(f"/sessions/{session}/events", types.Events).events[-1])
    assert last.data == types.SessionEnded(reason="terminated", terminated_by="daemon")


def test_files_of_a_session(stage: Stage) -> None:
    client, folder = stage.client, stage.folder / "files"
    folder.mkdir()
    session = stage.create(directory=str(folder))
    data = "application/octet-stream"
    written = client.send("PUT", "/fs/file", types.Written, b"hello", data, path="a/b.txt", sessionId=session)
    assert written.bytes_written == 5
    assert client.read("/fs/file", path="a/b.txt", session_id=session) == b"hello"
    assert [each.name for each in client.get("/fs/entries", list[types.NamedEntry], sessionId=session)] == ["a"]
    assert client.get("/fs/stat", types.Entry, path=str(folder / "a"), sessionId=session).entry_type == "directory"
    client.post("/fs/mkdir", None, types.Acted, path="d/e", sessionId=session)
    for overwrite in (True, False, None):
        body: Json = {"from": "a/b.txt", "to": f"d/{overwrite}", "overwrite": overwrite}
        client.post("/fs/move", body, types.Moved, sessionId=session)
        client.send("PUT", "/fs/file", types.Written, b"hello", data, path="a/b.txt", sessionId=session)
    client.send("DELETE", "/fs/entry", types.Acted, path="d", recursive=True, sessionId=session)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.add(folder / "a", "in")
    kind = "application/x-tar"
    unpacked = client.send(
        "POST", "/fs/upload-batch", types.Uploaded, archive.getvalue(), kind, path="up", sessionId=session
    )
    assert not unpacked.truncated
    assert (folder / "up/in/b.txt").read_text() == "hello"
    stage.refused(lambda: client.get("/fs/stat", types.Entry, path="none", sessionId=session), 400, 404)


def _skill(folder: Path, name: str) -> None:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: A skill.\n---\nSay {name}.\n")


def test_skills_are_copied_from_folders_and_repositories(stage: Stage, tmp_path: Path) -> None:
    _skill(tmp_path / "own", "own")
    (tmp_path / "own" / "link").symlink_to("/etc/passwd")
    with git_stage(tmp_path / "git") as (url, _):
        work = tmp_path / "git" / "work"
        for name in ("first", "second"):
            _skill(work / "skills" / name, name)
        git(work, "add", ".")
        git(work, "commit", "-qm", "skills")
        git(work, "tag", "v1")
        bare = tmp_path / "git" / "served" / "skills.git"
        git(tmp_path, "clone", "-q", "--bare", str(work), str(bare))
        git(bare, "update-server-info")
        repository = {"type": "git", "source": f"{url}/skills.git", "ref": "v1"}
        sources = [{"type": "local", "source": str(tmp_path / "own")}, repository | {"skills": ["second"]}]
        directory = tmp_path / "work"
        directory.mkdir()
        stage.create(directory=str(directory), skills={"sources": sources})
        for folder in (".claude/skills", ".agents/skills"):
            assert sorted(each.name for each in (directory / folder).iterdir()) == ["own", "second"]
            assert [each.name for each in (directory / folder / "own").iterdir()] == ["SKILL.md"]
        for wrong in ({"skills": ["third"]}, {"ref": "v2"}, {"subpath": "../.."}, {"subpath": "none"}):
            stage.refused(lambda wrong=wrong: stage.create(skills={"sources": [repository | wrong]}), 400)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_that_the_flags_allow_may_ask(stage: Stage, page: str) -> None:
    headers = {"origin": page, "access-control-request-method": "POST"}
    answer = httpx2.options(f"{stage.url}/v1/sessions/x", headers=headers, verify=NO_TLS)
    assert answer.headers["access-control-allow-origin"] == page


def test_headers_are_made_from_variables_of_the_session() -> None:
    server = REMOTE | {"headers": {"x-own": "o"}, "envHeaders": {"X-Own": "PLAIN", "x-plain": "PLAIN"}}
    body = {
        "env": {"PLAIN": "p"},
        "secrets": {"HIDDEN": "a-secret"},
        "mcp": {"a": server | {"bearerTokenEnvVar": "HIDDEN"}},
    }
    warnings: list[str] = []
    created = translated(msgspec.convert(body, CreateSessionRequest), warnings)
    headers = {"x-own": "o", "x-plain": "p", "Authorization": "Bearer a-secret"}
    assert created.mcp == {"a": McpRemote(url=MCP, headers=headers)}
    assert not warnings


@pytest.mark.parametrize(
    ("words", "serve"),
    [
        ("server", "serve"),
        ("-t T server -H ::1 -p 1", "serve --token T --host ::1 --port 1"),
        ("--token=T -n server --port=1", "serve --token=T --no-token --port=1"),
        ("server -O a --cors-allow-origin=b -M GET -A=x -C", "serve --allowed-origin a,b"),
        ("server --no-telemetry --data-dir d", "serve --data-dir d"),
        ("run server", "run server"),
        ("--token server run", "--token server run"),
    ],
)
def test_the_words_of_its_command_are_translated(words: str, serve: str) -> None:
    assert serve_words(words.split()) == serve.split()
