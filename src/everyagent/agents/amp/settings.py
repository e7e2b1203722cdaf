"""Reads the user's Amp settings, and derives a session's settings from them. What they reject stays rejected.

The first rule that matches applies: managed rules, then those of the directory, then those written here.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from everyagent.agents.amp.permissions import READERS, Standing
from everyagent.errors import AgentFailed
from everyagent.model.policies import UNRESTRICTED, ToolPolicies

Settings: TypeAlias = dict[str, object]

RULES = "amp.permissions"
SERVER_RULES = "amp.mcpPermissions"
ALLOW_ALL = "amp.dangerouslyAllowAll"
URL = "amp.url"
NATIVE_SECRETS = "amp.experimental.cli.nativeSecretsStorage.enabled"
_GUARDED_FILES = "amp.guardedFiles.allowlist"

_TOKENS = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)


def of_user(environment: Mapping[str, str]) -> Settings:
    named = environment.get("AMP_SETTINGS_FILE")
    if named:
        return read(Path(named))
    home = Path(environment.get("HOME") or Path.home())
    folder = Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "amp"
    return read(_file(folder))


def of_directory(directory: Path) -> tuple[Path, Settings]:
    """The settings that Amp finds first from there upwards, inside the repository, and their path."""
    for folder in (directory, *directory.parents):
        file = _file(folder / ".amp")
        if file.is_file():
            return file, read(file)
        if (folder / ".git").exists():
            break
    return _file(directory / ".amp"), {}


def for_session(
    user: Settings, delegates: Mapping[Standing, Path], custom_tools: str, policies: ToolPolicies = UNRESTRICTED
) -> Settings:
    """The user's settings, with every call that they do not reject handed to a permission hook.

    Amp would ask at its own terminal about guarded files, and wait for ever, so the hook decides on them, too. Reading
    needs no permission, unless policies are set.
    """
    rules = [_delegated(rule, delegates) for rule in rules_of(user)]
    unasked = READERS if policies == UNRESTRICTED else ()
    free = [{"tool": tool, "action": "allow"} for tool in (*unasked, f"mcp__{custom_tools}__*")]
    rest = {"tool": "*", "action": "delegate", "to": str(delegates["unsettled"])}
    ours: Settings = {RULES: [*rules, *free, rest], ALLOW_ALL: False, _GUARDED_FILES: ["/**"]}
    if not policies.own_tools:
        ours["amp.tools.enable"] = ["mcp__*"]
    return {**user, **ours, "amp.updates.mode": "disabled"}


def read(path: Path) -> Settings:
    """Settings with comments and trailing commas. Raises `AgentFailed` if unreadable, since they may forbid things."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise AgentFailed(f"Amp's settings in {path} cannot be read: {error}.") from error
    if not text.strip():
        return {}
    bare = _TOKENS.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    try:
        return msgspec.json.decode(_TRAILING.sub(lambda found: found[1] or "", bare), type=Settings)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise AgentFailed(f"Amp's settings in {path} are no JSON: {error}. Correct them.") from error


def _file(folder: Path) -> Path:
    plain = folder / "settings.json"
    return plain if plain.exists() else folder / "settings.jsonc"


def _delegated(rule: Mapping[str, object], delegates: Mapping[Standing, Path]) -> Settings:
    """The rule, handed to a hook. `reject` stays, and so does a delegate of the user."""
    match rule.get("action"):
        case "allow":
            return {**rule, "action": "delegate", "to": str(delegates["allowed"])}
        case "ask":
            return {**rule, "action": "delegate", "to": str(delegates["asked"])}
        case _:
            return dict(rule)


def rules_of(found: Settings, key: str = RULES) -> list[Settings]:
    """The rules under `key`; other values are skipped, as Amp does."""
    try:
        each = msgspec.convert(found.get(key, []), list[object])
    except msgspec.ValidationError:
        return []
    return [msgspec.convert(rule, Settings) for rule in each if isinstance(rule, dict)]


def url_of(user: Settings) -> str | None:
    url = user.get(URL)
    return url if isinstance(url, str) else None
