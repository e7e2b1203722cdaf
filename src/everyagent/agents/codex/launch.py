"""Arguments and environment of the app-server. Sessions for which both are equal share one process."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from everyagent.agents.codex import program
from everyagent.runtime.environment import scrubbed

_PREFIXES = ("CODEX_", "OPENAI_", "AZURE_OPENAI_", "AWS_", "OTEL_")
_NAMES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy"})
_OPENAI = "https://api.openai.com/v1"
_OWN_PROVIDER = "openai-api-key"
#: A thread that its session has let go of is unloaded at once, with the MCP servers it has started.
_OWN = ("-c", "check_for_update_on_startup=false", "-c", "thread_unload_delay_secs=0")
#: For a process that is only asked a question: nothing is fetched beside.
QUIET = ("-c", "features.plugins=false", "-c", "features.apps=false", "-c", "analytics.enabled=false")


def argv(binary: str, environment: Mapping[str, str], *, quiet: bool = False) -> tuple[str, ...]:
    """Secrets are never in it: every process of the machine can read the arguments of every other."""
    words = [*_OWN, *(QUIET if quiet else ())]
    if _needs_provider(environment):
        url = environment.get("OPENAI_BASE_URL") or _OPENAI
        table = f'{{name="OpenAI",base_url="{url}",env_key="{program.KEY_VARIABLE}",wire_api="responses"}}'
        words += ["-c", f"model_providers.{_OWN_PROVIDER}={table}", "-c", f'model_provider="{_OWN_PROVIDER}"']
    return (binary, "app-server", *words)


def environment(session: Mapping[str, str], source: Mapping[str, str]) -> dict[str, str]:
    """`source` is the daemon's own environment: of it, what names an account or a way to the API passes."""
    providers = _config({**source, **session}).model_providers.values()
    wanted = {provider.env_key for provider in providers}
    allowed = [name for name in source if name in _NAMES or name.startswith(_PREFIXES) or name in wanted]
    return scrubbed(source, allow=allowed, session=session)


def _needs_provider(environment: Mapping[str, str]) -> bool:
    """Codex itself reads no key from its environment; a login or a provider of the user takes precedence."""
    if not environment.get(program.KEY_VARIABLE) or (program.home(environment) / "auth.json").exists():
        return False
    return _config(environment).model_provider is None


def own_servers(environment: Mapping[str, str]) -> list[str]:
    """The user's own MCP servers that are processes."""
    return [name for name, server in _config(environment).mcp_servers.items() if server.command]


class _Provider(Struct, frozen=True):
    env_key: str | None = None


class _McpEntry(Struct, frozen=True):
    command: str | None = None


class _Config(Struct, frozen=True):
    """The part of the user's own configuration that we read."""

    model_provider: str | None = None
    model_providers: dict[str, _Provider] = {}
    mcp_servers: dict[str, _McpEntry] = {}


def _config(environment: Mapping[str, str]) -> _Config:
    try:
        return msgspec.toml.decode((program.home(environment) / "config.toml").read_bytes(), type=_Config)
    except (OSError, ValueError):
        return _Config()
