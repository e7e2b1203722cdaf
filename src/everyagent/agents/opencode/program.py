"""The OpenCode program on this machine: where it is, which version, who is logged in; and ripgrep, which it needs."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from everyagent.agents import packages
from everyagent.agents.installed import ProgramIdentity
from everyagent.agents.packages import Program

TESTED_VERSION = "1.18.33"
BINARY_VARIABLE = "EVERYAGENT_OPENCODE_BIN"
RIPGREP_VERSION = "1.18.0"
#: Variables with credentials of model providers, in addition to those that begin with the provider's name.
KEYS = frozenset(
    {
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_GENERATIVE_AI_API_KEY",
        "GROQ_API_KEY",
        "XAI_API_KEY",
        "DEEPSEEK_API_KEY",
        "MISTRAL_API_KEY",
        "CEREBRAS_API_KEY",
        "TOGETHER_API_KEY",
        "FIREWORKS_API_KEY",
        "MOONSHOT_API_KEY",
        "ZHIPU_API_KEY",
        "OPENCODE_API_KEY",
    }
)
_KNOWN = {"linux-x64": (185_354_368, "0abbb7c32ab0294c0a7bfa2705f9ff0df5dce5ab721d1f00cccfe393f2a11427")}


def pinned() -> Program:
    """The platform's native binary; the npm package of the plain name only picks it."""
    name = packages.platform_name()
    size, digest = _KNOWN.get(name, (0, ""))
    return Program(
        package=f"opencode-{name}",
        version=TESTED_VERSION,
        member="package/bin/opencode",
        size=size,
        sha256=digest,
    )


def ripgrep() -> Program:
    name = packages.platform_name().removesuffix("-musl")
    return Program(package=f"@vscode/ripgrep-{name}", version=RIPGREP_VERSION, member="package/bin/rg")


def own_ripgrep(environment: Mapping[str, str]) -> str | None:
    """The machine's, or the one that OpenCode has fetched for itself."""
    found = shutil.which("rg", path=environment.get("PATH"))
    fetched = _home(environment, "XDG_CACHE_HOME", ".cache") / "opencode" / "bin" / "rg"
    return found or (str(fetched) if fetched.is_file() else None)


def native(environment: Mapping[str, str]) -> list[Path]:
    """The folders that OpenCode keeps its settings, login, sessions and packages in."""
    folders = (("CONFIG", ".config"), ("DATA", ".local/share"), ("STATE", ".local/state"), ("CACHE", ".cache"))
    return [_home(environment, f"XDG_{name}_HOME", folder) / "opencode" for name, folder in folders]


def config_home(environment: Mapping[str, str]) -> Path:
    return _home(environment, "XDG_CONFIG_HOME", ".config")


def _home(environment: Mapping[str, str], variable: str, folder: str) -> Path:
    named = environment.get(variable)
    return Path(named) if named else Path(environment.get("HOME") or Path.home()) / folder


def login(environment: Mapping[str, str]) -> str | None:
    """The account or key in use, or None. Secrets are not shown."""
    kept = _home(environment, "XDG_DATA_HOME", ".local/share") / "opencode" / "auth.json"
    try:
        providers = sorted(msgspec.json.decode(kept.read_bytes(), type=dict[str, object]))
    except (OSError, msgspec.MsgspecError):
        providers = []
    if providers:
        return ", ".join(providers)
    return next((name for name in sorted(KEYS) if environment.get(name)), None)


def beside(environment: Mapping[str, str], folder: Path) -> Path | None:
    """The ripgrep that we installed, where there is no other."""
    return None if own_ripgrep(environment) else packages.installed(ripgrep(), folder / "ripgrep")


def lacking(environment: Mapping[str, str], folder: Path) -> str | None:
    if own_ripgrep(environment) or beside(environment, folder):
        return None
    return (
        "There is no ripgrep (`rg`) on the PATH, so OpenCode will fetch one from GitHub when it first searches. "
        "Run `everyagent agents install opencode`, or install ripgrep."
    )


IDENTITY = ProgramIdentity("opencode", "OpenCode", BINARY_VARIABLE, TESTED_VERSION, pinned, login, lacking)
