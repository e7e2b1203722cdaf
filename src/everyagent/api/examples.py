"""Examples of bodies for the OpenAPI document, by their type. Loaded with it, not at the start."""

from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from everyagent.api.universal.agents import InstallAgent
from everyagent.api.universal.asks import RejectQuestion, ReplyToPermission, ReplyToQuestion, ReplyToTool
from everyagent.api.universal.files import FsMove
from everyagent.api.universal.session_requests import CreateSessionRequest, McpRemoteRequest
from everyagent.api.universal.sessions import CreatedSession
from everyagent.model.asks import AskTimeout
from everyagent.model.checkpoints import RewindSession, RewoundSession
from everyagent.model.keys import CreateKey, KeyInfo, KeyList, NewKey
from everyagent.model.policies import ToolPolicies
from everyagent.model.responses import AskList, Cancelled, Health, MessageQueue, SearchHits, SessionPage
from everyagent.model.runners import CreateRunnerKey
from everyagent.model.sessions import (
    AskInfo,
    ForkSession,
    QueuedMessage,
    SearchHit,
    SendMessage,
    SessionInfo,
    UpdateSession,
)
from everyagent.model.usage import Usage
from everyagent.model.webhooks import CreateWebhook, NewWebhook, ReplayWebhook, UpdateWebhook, WebhookInfo, WebhookList
from everyagent.model.worktrees import MergedWorktree, MergeWorktree

_TIME: Final = 1_767_225_600_000
_SESSION: Final = SessionInfo(
    session_id="fix-login",
    agent="claude",
    agent_mode="default",
    permission_mode="acceptEdits",
    model="sonnet",
    variant=None,
    native_session_id="7c1f2f6e-6a0c-4d0b-9f0e-2b1f4d1c9a10",
    status="waiting",
    ended=False,
    event_count=42,
    created_at=_TIME,
    updated_at=_TIME + 60_000,
    directory="/home/me/project",
    title="Fix the login",
    metadata={"ticket": "LOG-7"},
    env=[],
    mcp={},
    tools=[],
    isolation="namespace",
    ask_timeout=AskTimeout(seconds=600),
    budget_usd=5.0,
    system_prompt=None,
    usage=Usage(input_tokens=5200, output_tokens=810),
    cost_usd=0.031,
    pending_asks=1,
    queued_messages=0,
    forked_from=None,
)
_ASK: Final = AskInfo(
    ask_id="perm_01",
    kind="permission",
    session_id="fix-login",
    sequence=41,
    asked_at=_TIME,
    expires_at=_TIME + 600_000,
    pending=True,
    request={
        "permission_id": "perm_01",
        "action": "bash",
        "status": "requested",
        "tool": "Bash",
        "input": {"command": "npm test"},
        "options": ["once", "always", "reject"],
        "expires_at": "2026-01-01T00:10:00.000000Z",
    },
    answer=None,
)
_KEY: Final = KeyInfo(
    key_id="key_01", name="ci", workspace="default", scopes=["read", "run"], created_at=_TIME, budget_usd=20.0
)
_WEBHOOK: Final = WebhookInfo(
    webhook_id="whk_01",
    url="https://example.org/hooks/everyagent",
    name="chat",
    workspace="default",
    events=["turn.ended", "permission.requested"],
    answer_links=True,
    created_at=_TIME,
    cursor="17.4",
)
_ALL: Final[tuple[Struct, ...]] = (
    CreateSessionRequest(
        agent="claude",
        directory="/home/me/project",
        title="Fix the login",
        permission_mode="acceptEdits",
        tool_policies=ToolPolicies(tools={"bash": "ask", "web_fetch": "deny"}),
        mcp={"docs": McpRemoteRequest(url="https://example.org/mcp")},
        ask_timeout=AskTimeout(seconds=600, question="Nobody is here. Decide by yourself."),
        budget_usd=5.0,
        metadata={"ticket": "LOG-7"},
    ),
    UpdateSession(title="Fix the login page", metadata={"ticket": None}, budget_usd=10.0),
    ForkSession(session_id="another-way", sequence=30),
    RewindSession(sequence=30),
    RewoundSession(sequence=30, files=["src/login.py"], conversation=True),
    MergeWorktree(message="Fix the login"),
    MergedWorktree(branch="main", commit="9b2c1f7e0d4a4f5f8a3c6b1d2e3f4a5b6c7d8e9f", files=["src/login.py"]),
    SendMessage(message="The login fails with an empty password. Find out why, and add a test."),
    ReplyToPermission(reply="reject", message="Run only the tests of the login."),
    ReplyToQuestion(answers=[["Yes"], ["Staging", "Production"]]),
    RejectQuestion(message="Decide by yourself."),
    ReplyToTool(output="12 °C, rain"),
    InstallAgent(),
    FsMove(origin="notes.md", to="docs/notes.md"),
    CreateKey(name="ci", scopes=["read", "run"], budget_usd=20.0),
    CreateWebhook(
        url="https://example.org/hooks/everyagent",
        name="chat",
        events=["turn.ended", "permission.requested"],
        answer_links=True,
    ),
    UpdateWebhook(paused=False),
    ReplayWebhook(after="17.4"),
    CreateRunnerKey(name="gpu-box"),
    _SESSION,
    CreatedSession(**asdict(_SESSION)),
    SessionPage(sessions=[_SESSION], next_page=None),
    AskList(asks=[_ASK]),
    MessageQueue(messages=[QueuedMessage(item_id="itm_01", message="Then update the docs.", attachments=0)]),
    Cancelled(cancelled=True),
    SearchHits(
        hits=[
            SearchHit(
                session_id="fix-login",
                sequence=12,
                time="2026-01-01T00:00:12.000000Z",
                title="Fix the login",
                agent="claude",
                snippet="the empty password is never checked",
            )
        ]
    ),
    Health(status="ok", version="1.0.0"),
    NewKey(key=_KEY, secret="shown-once"),
    KeyList(keys=[_KEY]),
    NewWebhook(webhook=_WEBHOOK, secret="shown-once"),
    _WEBHOOK,
    WebhookList(webhooks=[_WEBHOOK]),
)
_BY_TYPE: Final = {type(example): msgspec.to_builtins(example) for example in _ALL}


def example_of(shape: object) -> dict[str, object]:
    """The `example` of a media type; empty if there is none."""
    return {"example": _BY_TYPE[shape]} if isinstance(shape, type) and shape in _BY_TYPE else {}
