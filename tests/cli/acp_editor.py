"""An editor, by the official client library of the Agent Client Protocol: it starts `everyagent acp` and drives it."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio
from acp import Client as AcpClient
from acp import spawn_agent_process, text_block
from acp.client import ClientSideConnection
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    Implementation,
    PermissionOption,
    PromptResponse,
    RequestPermissionResponse,
    ToolCallUpdate,
)
from command_line import COMMAND
from tests.waiting import LIMIT_SECONDS

Reply = Callable[[ToolCallUpdate, list[PermissionOption]], Awaitable[str | None]]


async def allow_once(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
    return next(option.option_id for option in options if option.kind == "allow_once")


class Editor:
    """Keeps all updates. Permissions are answered by `reply`, which returns an option or None to cancel."""

    def __init__(self, reply: Reply = allow_once, form: dict[str, object] | None = None) -> None:
        self.reply = reply
        self.form = form
        self.updates: list[tuple[str, Any]] = []
        self.changed = anyio.Event()
        self.conn: ClientSideConnection
        self.session = ""

    def on_connect(self, conn: Any) -> None:
        del conn

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append((session_id, update))
        self.changed.set()
        self.changed = anyio.Event()

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        del session_id
        chosen = await self.reply(tool_call, options)
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> AcceptElicitationResponse:
        del message, mode
        return AcceptElicitationResponse(action="accept", content=self.form)  # pyright: ignore[reportArgumentType]

    # -- what the user does ---------------------------------------------------------------------------------------

    async def open(self, directory: Path) -> str:
        self.session = (await self.conn.new_session(cwd=str(directory), mcp_servers=[])).session_id
        return self.session

    async def prompt(self, text: str) -> PromptResponse:
        with anyio.fail_after(LIMIT_SECONDS):
            return await self.conn.prompt(session_id=self.session, prompt=[text_block(text)])

    async def seen(self, kind: str, matches: Callable[[Any], bool] = lambda _: True) -> Any:
        """The first update of a kind that matches, also one that is still to come."""
        with anyio.fail_after(LIMIT_SECONDS):
            while True:
                changed = self.changed
                for update in self.of(kind):
                    if matches(update):
                        return update
                await changed.wait()

    def of(self, kind: str) -> list[Any]:
        return [update for _, update in self.updates if update.session_update == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(update.content.text for update in self.of(kind))


@asynccontextmanager
async def running(editor: Editor, environment: dict[str, str], *words: str) -> AsyncGenerator[Editor]:
    """The editor with its agent, `everyagent acp` with these words; the library checks every message's type."""
    command = [*COMMAND, "acp", *words]
    async with spawn_agent_process(cast(AcpClient, editor), *command, env=environment, use_unstable_protocol=True) as (
        conn,
        _,
    ):
        forms = ElicitationCapabilities(form=ElicitationFormCapabilities()) if editor.form is not None else None
        await conn.initialize(
            protocol_version=1,
            client_capabilities=ClientCapabilities(elicitation=forms),
            client_info=Implementation(name="tests", version="1"),
        )
        editor.conn = conn
        yield editor
