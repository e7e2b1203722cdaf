"""Asks Codex whether it is logged in, before it opens a thread: without a login it repeats its requests for minutes."""

import msgspec
from msgspec import Struct

from everyagent.agents.codex.decode.failures import REMEDY
from everyagent.agents.codex.driver.server import AppServer
from everyagent.agents.codex.protocol.refusals import CodexRefused
from everyagent.agents.unparsed import BROKEN
from everyagent.errors import AgentNotLoggedIn


class _Account(Struct, frozen=True, rename="camel"):
    """`requires_openai_auth` is false for a provider of the user that has its own key, or needs none."""

    account: object = None
    requires_openai_auth: bool = False


async def require_login(server: AppServer) -> None:
    """Raises `AgentNotLoggedIn`. A version that cannot answer, or not in this shape, is taken as logged in."""
    try:
        found = msgspec.json.decode(await server.request("account/read", {"refreshToken": False}), type=_Account)
    except (CodexRefused, *BROKEN):
        return
    if found.account is None and found.requires_openai_auth:
        raise AgentNotLoggedIn(f"Codex is not logged in. {REMEDY}")
