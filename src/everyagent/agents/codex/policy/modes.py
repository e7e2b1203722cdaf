"""Modes: the universal names, and the approval policy, sandbox and collaboration mode Codex has for each. Pure."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from everyagent.agents.catalogs import modes

Sandbox = Literal["read-only", "workspace-write", "danger-full-access"]

AGENT_MODES = modes(
    {
        "build": "Does the work, as the permission mode allows",
        "plan": "Reads, asks and plans; changes nothing",
    }
)
PERMISSION_MODES = modes(
    {
        "default": "Asks before patches and before commands that are not known as safe",
        "plan": "Changes nothing; proposes a plan",
        "acceptEdits": "Patches files of the directory without asking",
        "bypass": "Asks for nothing, in no sandbox",
        "read-only": "Codex's read-only sandbox; asks to leave it",
        "auto": "Works in Codex's workspace-write sandbox; asks to leave it",
        "sandboxed": "Works in the workspace-write sandbox, never asks",
    }
)
#: In all other modes a user may allow it to leave its sandbox.
SANDBOX_MODES = ["bypass", "sandboxed", "plan"]
#: The permission profile of a thread whose commands are limited to some hosts.
_PROFILE = "everyagent"


class CodexMode(Struct, frozen=True, kw_only=True):
    """`sandbox` None: the one of the user's own configuration. `accepts_patches`: patches are approved unasked."""

    approval: str
    sandbox: Sandbox | None
    plan: bool = False
    accepts_patches: bool = False


_NATIVE = {
    "default": CodexMode(approval="untrusted", sandbox=None),
    "plan": CodexMode(approval="never", sandbox="read-only", plan=True),
    "acceptEdits": CodexMode(approval="untrusted", sandbox=None, accepts_patches=True),
    "bypass": CodexMode(approval="never", sandbox="danger-full-access"),
    "read-only": CodexMode(approval="on-request", sandbox="read-only"),
    "auto": CodexMode(approval="on-request", sandbox="workspace-write"),
    "sandboxed": CodexMode(approval="never", sandbox="workspace-write"),
}
_POLICIES = {
    "read-only": {"type": "readOnly"},
    "workspace-write": {"type": "workspaceWrite"},
    "danger-full-access": {"type": "dangerFullAccess"},
}


def native(permission_mode: str, agent_mode: str) -> CodexMode:
    """Planning overrides the permission mode: nothing may be changed."""
    return _NATIVE["plan"] if agent_mode == "plan" else _NATIVE.get(permission_mode, _NATIVE["default"])


def policy(sandbox: Sandbox) -> dict[str, object]:
    """The sandbox as an object for `turn/start`; `thread/start` takes only its name."""
    return dict(_POLICIES[sandbox])


def profiled(native: CodexMode, hosts: Sequence[str] | None) -> bool:
    """True if a permission profile replaces the sandbox. Codex's read-only sandbox has no network anyway."""
    return hosts is not None and native.sandbox in ("workspace-write", "danger-full-access")


def profile(native: CodexMode, hosts: Sequence[str] | None) -> dict[str, object]:
    """The thread's configuration: its own loopback, and these hosts through Codex's proxy. Files are as in the mode."""
    if not profiled(native, hosts):
        return {}
    network = {"enabled": True, "allow_local_binding": True, "domains": dict.fromkeys(hosts or (), "allow")}
    files = {"extends": ":workspace"} if native.sandbox == "workspace-write" else {"filesystem": {":root": "write"}}
    return {
        "features.network_proxy": True,
        "default_permissions": _PROFILE,
        f"permissions.{_PROFILE}": {**files, "network": network},
    }
