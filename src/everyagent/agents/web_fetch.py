"""Calls of an agent's tool that fetches a web page, held to the domains of the session's policies. Pure."""

import msgspec
from msgspec import UNSET, Raw, Struct

from everyagent.model.policies import AgentTool, ToolPolicies


class _FetchInput(Struct, frozen=True):
    url: str = ""


_inputs = msgspec.json.Decoder(_FetchInput)


def fetch_refusal(policies: ToolPolicies, tool: AgentTool | None, input: bytes | Raw) -> str | None:
    """The message to the model if the call fetches from elsewhere; None for any other call."""
    if policies.web_fetch is UNSET or tool is None or "web_fetch" not in tool.kinds:
        return None
    try:
        url = _inputs.decode(input).url
    except msgspec.MsgspecError:
        url = ""
    if policies.web_fetch.allow(url):
        return None
    return f"The session does not allow pages of this address: {url[:500] or 'none'}. Use another, or do without it."
