"""The hook that enforces tool policies: Codex calls it before every tool call of a thread and its sub-agents.

Codex allows a call if its hook fails or times out, so the hook's command rejects the call on any failure.
"""

import hashlib
import shlex
import sys
from pathlib import Path

import msgspec

from everyagent.agents import hook_client
from everyagent.agents.codex.decode.notices import OWN_HOOKS
from everyagent.agents.codex.decode.tools import SHELL
from everyagent.agents.codex.driver.server import AppServer
from everyagent.agents.codex.policy.policies import own_verdict
from everyagent.agents.codex.protocol.wire import Hooks
from everyagent.errors import AgentFailed
from everyagent.model.policies import UNRESTRICTED, ToolPolicies

#: Thirty years: a person may take as long as it takes.
_PATIENCE_SECONDS = 10**9
_KEY = "/<session-flags>/config.toml:pre_tool_use:0:0"
#: As far as Codex can do without them; what it offers all the same, the hook denies.
_OWN_TOOLS = (
    *("features.shell_tool", "features.unified_exec", "features.multi_agent", "features.multi_agent_v2"),
    *("features.goals", "tools.update_plan.enabled"),
)

_listed = msgspec.json.Decoder(Hooks)


def config(policies: ToolPolicies, socket: Path, token_file: Path) -> dict[str, object]:
    """The thread's configuration that applies the policies."""
    if policies == UNRESTRICTED:
        return {}
    given: dict[str, object] = {"hooks": _hooks(socket, token_file), "features.hooks": True}
    if own_verdict(policies, SHELL) in ("ask", "deny"):
        given["features.unified_exec_tty"] = False  # what is typed into a running command passes no hook
    if own_verdict(policies, "web_search") == "deny":
        given["web_search"] = "disabled"
    if own_verdict(policies, "image_generation") == "deny":
        given["features.image_generation"] = False
    if not policies.own_tools:
        given |= dict.fromkeys(_OWN_TOOLS, False)
    return given


async def verify(server: AppServer, thread: str) -> None:
    """Raises `AgentFailed` unless the thread really calls the hook: another version may not know it."""
    listed = _listed.decode(await server.request("hooks/list", {"threadId": thread}))
    hooks = [hook for entry in listed.data for hook in entry.hooks if hook.source == OWN_HOOKS]
    if not any(hook.enabled and hook.trust_status == "trusted" for hook in hooks):
        raise AgentFailed(
            "Codex does not call the hook by which the session's tool policies are kept, so it was not started. "
            "Use the tested version (`everyagent agents install codex`), allow hooks in its requirements, or take "
            "the policies back."
        )


def _hooks(socket: Path, token_file: Path) -> dict[str, object]:
    """Trusted by its hash, as the user would trust it: no other hook is trusted with it."""
    command = shlex.join([sys.executable, "-I", "-S", hook_client.__file__, str(socket), str(token_file)])
    handler = {"async": False, "command": f"{command} || exit 2", "timeout": _PATIENCE_SECONDS, "type": "command"}
    identity = msgspec.json.encode({"event_name": "pre_tool_use", "hooks": [handler]})
    trusted = f"sha256:{hashlib.sha256(identity).hexdigest()}"
    return {"PreToolUse": [{"hooks": [handler]}], "state": {_KEY: {"trusted_hash": trusted}}}
