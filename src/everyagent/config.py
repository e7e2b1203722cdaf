"""Settings from flags, `EVERYAGENT_*` variables, `config.toml` and defaults, in this order, with their origins.

Also reads and writes the token file.
"""

import os
import re
import secrets
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeAlias, get_type_hints

import msgspec
from msgspec import Meta, Struct

from everyagent.model.agents import OwnAgent
from everyagent.model.isolation import Isolation, IsolationChoice
from everyagent.model.limits import AgentLimits
from everyagent.model.oidc import OidcSettings, is_safe_url
from everyagent.model.prices import UNPRICED, Price, Prices
from everyagent.model.retention import RetainedStatus, Retention

AgentName: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9-]{0,31}$")]
LogFormat: TypeAlias = Literal["auto", "console", "json"]
LogLevel: TypeAlias = Literal["info", "warning", "error"]

#: The file in the data folder where `serve` stores its address, so that other commands find it.
ADDRESS_FILE = "daemon.url"

#: The file in the data folder with the owner's token.
TOKEN_FILE = "token"

#: The file in the data folder with the prices of models.
PRICES_FILE = "prices.json"

_PREFIX = "EVERYAGENT_"

#: A number of bytes, which may be written with a unit: 512M, 4G.
Bytes: TypeAlias = Annotated[int, Meta(ge=0)]
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(?:i?B)?", re.IGNORECASE)
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
#: The share of the machine's memory that one session may use, if nothing else is configured.
_MEMORY_SHARE = 0.75
#: The processes and threads that one session may have, if nothing else is configured: a build may start some a core.
_PROCESSES, _PROCESSES_PER_CORE = 1024, 64


class ConfigError(Exception):
    """An invalid setting. The message names the setting and its origin."""


class Settings(Struct, frozen=True, kw_only=True, rename="kebab"):
    """Without `token`, the data folder's `token` file is used; without `prices`, its `prices.json` if it exists;
    without `store`, the log is a SQLite file there.

    `idle_timeout`, `turn_timeout` and `runner_lease` are in seconds. Of `turn_timeout` and each `max_...` but the
    connections, 0 is no limit. `isolation` is the level of sessions that name none; none is below `min_isolation`.
    `container_engine` is a command, which starts containers with `container_image`.
    `mcp_...` limit the sessions that agents start over MCP; of the last two, 0 is no limit.
    `session_*` are limits of the agents, which `agent_limits` reads.
    Sessions of API keys work below `key_directory`, by default the working directory.
    Requests may name this daemon by `allowed_host`, several with commas between them, besides its own addresses.
    Web pages of `allowed_origin`, several with commas between them, may use the API.
    With `blobs`, large bodies and uploads are in an S3 bucket or a folder, not in the store.
    With `cluster`, other daemons share the store, and reach this one at `node_url`, by default where it listens.
    They announce commits over the NATS servers `bus`, several with commas between them, else over the store.
    Webhooks may be sent to `webhook_networks`, several with commas between them, besides public addresses; an endpoint
    that failed for `webhook_pause_after` seconds is paused. People reach this daemon at `public_url`, whose path is a
    prefix that requests may have. `X-Forwarded-...` headers count from `trusted_proxy`, networks with commas between
    them. With `tls_cert` it serves HTTPS; without `tls_key`, the key is in the same file.
    Sessions are deleted as `retain_...` says; `retention` reads them.
    Traces are sent to the collector at `otel_endpoint`, with what was said if `otel_content`.
    One of `vault_key...` gives the key that encrypts secrets, by default the data folder's `vault.key`.
    `agents` are agents of the user's own, `oidc` is the sign-in of the inspector; only `config.toml` has them.
    """

    data_dir: Path
    host: Annotated[str, Meta(min_length=1)] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 2468
    token: Annotated[str, Meta(min_length=1, pattern=r"^[!-~]+$")] | None = None
    no_token: bool = False
    default_agent: Annotated[str, Meta(min_length=1)] = "claude"
    idle_timeout: Annotated[float, Meta(gt=0)] = 600.0
    turn_timeout: Annotated[float, Meta(ge=0)] = 0.0
    max_connections: Annotated[int, Meta(ge=1)] = 20_000
    max_requests: Annotated[int, Meta(ge=0)] = 5_000
    max_sessions: Annotated[int, Meta(ge=0)] = 0
    max_agents: Annotated[int, Meta(ge=0)] = 0
    max_queued_messages: Annotated[int, Meta(ge=0)] = 1_000
    mcp_depth: Annotated[int, Meta(ge=0)] = 3
    mcp_starts_per_hour: Annotated[int, Meta(ge=0)] = 120
    mcp_budget: Annotated[float, Meta(ge=0)] = 10.0
    runner_lease: Annotated[float, Meta(gt=0)] = 300.0
    prices: Path | None = None
    isolation: IsolationChoice = "auto"
    min_isolation: Isolation = "none"
    container_image: Annotated[str, Meta(pattern=r"^[^\s-]\S*$")] | None = None
    container_engine: Annotated[str, Meta(pattern=r"\S")] = "podman"
    session_memory: Bytes | None = None
    session_processes: Annotated[int, Meta(ge=0)] | None = None
    session_cpu: Annotated[float, Meta(ge=0)] | None = None
    session_open_files: Annotated[int, Meta(ge=0)] | None = None
    session_disk: Bytes | None = None
    session_checkpoints: Bytes = 5 << 30
    key_directory: Path | None = None
    allowed_host: Annotated[str, Meta(pattern=r"^[^/,\s]+(,[^/,\s]+)*$")] | None = None
    allowed_origin: Annotated[str, Meta(pattern=r"^https?://[^/,\s]+(,https?://[^/,\s]+)*$")] | None = None
    store: Annotated[str, Meta(pattern="^postgres(ql)?://")] | None = None
    blobs: Annotated[str, Meta(pattern=r"^(s3://[^/?#]+(/[^?#]*)?(\?[^#]*)?|/.*)$")] | None = None
    cluster: bool = False
    node_url: Annotated[str, Meta(pattern="^https?://[^/?#]+/?$")] | None = None
    bus: Annotated[str, Meta(pattern=r"^(nats|tls)://[^/,\s]+(,(nats|tls)://[^/,\s]+)*$")] | None = None
    vault_key: Annotated[str, Meta(min_length=1)] | None = None
    vault_key_file: Path | None = None
    vault_key_command: Annotated[str, Meta(min_length=1)] | None = None
    webhook_networks: Annotated[str, Meta(min_length=1)] | None = None
    webhook_pause_after: Annotated[float, Meta(gt=0)] = 86_400.0
    public_url: Annotated[str, Meta(pattern=r"^https?://[^/?#]+(/[\w.~-]+)*/?$")] | None = None
    trusted_proxy: Annotated[str, Meta(min_length=1)] | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    retain_days: Annotated[float, Meta(ge=0)] = 0.0
    retain_events: Annotated[int, Meta(ge=0)] = 0
    retain_status: RetainedStatus = "ended"
    log_format: LogFormat = "auto"
    log_level: LogLevel = "info"
    access_log: bool = False
    otel_endpoint: Annotated[str, Meta(pattern=r"^https?://[^/?#]+(/[^?#]*)?$")] | None = None
    otel_content: bool = False
    agents: dict[AgentName, OwnAgent] = {}
    oidc: OidcSettings | None = None


class GivenSetting(NamedTuple):
    """A value before validation. `origin` names the flag, variable or file that it came from."""

    value: object
    origin: str


_NAMES: tuple[str, ...] = tuple(name.replace("_", "-") for name in Settings.__struct_fields__)
_SIZES = frozenset({"session-memory", "session-disk"})
_PATHS = frozenset({"data-dir", "prices", "key-directory", "vault-key-file", "tls-cert", "tls-key"})
_FILE_ONLY = ("agents", "oidc")
_TYPES: dict[str, object] = {
    name.replace("_", "-"): hint for name, hint in get_type_hints(Settings, include_extras=True).items()
}


def load(flags: Mapping[str, object] | None = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """Load the settings. `flags` are named like the fields; None means not given. Raises `ConfigError`."""
    given = gather(flags or {}, environ)
    values = {name: _converted(name, setting) for name, setting in given.items()}
    settings = msgspec.convert(values, Settings)
    if settings.no_token and not is_loopback(settings.host):
        raise ConfigError(
            f"Listening on {settings.host} without a token would let anybody on the network run agents here. "
            f"Remove no-token ({given['no-token'].origin}), or listen on 127.0.0.1."
        )
    for name, networks in (("webhook-networks", settings.webhook_networks), ("trusted-proxy", settings.trusted_proxy)):
        if networks is not None:
            _check_networks(networks, given[name].origin)
    if settings.tls_key is not None and settings.tls_cert is None:
        raise ConfigError(f"A key ({given['tls-key'].origin}) needs its certificate: --tls-cert.")
    if settings.blobs is not None and settings.store is None:
        raise ConfigError(
            f"A place for blobs ({given['blobs'].origin}) needs a PostgreSQL store: --store. With SQLite, they are in "
            "the data folder."
        )
    if settings.cluster:
        _check_cluster(settings, given["cluster"].origin)
    elif settings.bus is not None:
        raise ConfigError(f"The setting bus ({given['bus'].origin}) is for nodes of a cluster: add --cluster.")
    if settings.oidc is not None and not is_safe_url(settings.oidc.issuer):
        raise ConfigError(f"The issuer {settings.oidc.issuer} ({given['oidc'].origin}) must be an https address.")
    if settings.otel_endpoint is not None and find_spec("opentelemetry") is None:
        raise ConfigError("Telemetry needs more packages: pip install 'everyagent[otel]'.")
    if settings.oidc is not None and find_spec("jwt") is None:
        raise ConfigError("The sign-in with OpenID Connect needs one more package: pip install 'everyagent[oidc]'.")
    return settings


def _check_networks(text: str, origin: str) -> None:
    from ipaddress import ip_network

    for each in text.split(","):
        try:
            ip_network(each.strip())
        except ValueError as error:
            raise ConfigError(f"{origin} has an invalid network: {error}. Write 10.0.0.0/8, or ::1.") from error


def _check_cluster(settings: Settings, origin: str) -> None:
    if settings.store is None:
        raise ConfigError(f"A cluster ({origin}) needs a PostgreSQL store that its nodes share: --store.")
    if settings.token is None and not settings.no_token:
        raise ConfigError(
            f"The nodes of a cluster ({origin}) need the same token: give it with --token, or EVERYAGENT_TOKEN."
        )
    if settings.node_url is None and settings.host in ("0.0.0.0", "::"):
        raise ConfigError(
            f"A node of a cluster ({origin}) that listens on {settings.host} does not know its own address. Give the "
            "one at which the other nodes reach it: --node-url http://10.0.0.7:2468."
        )


def origins(flags: Mapping[str, object] | None = None, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The origin of each setting, by its name in `config.toml`."""
    given = gather(flags or {}, environ)
    return {name: given[name].origin if name in given else "default" for name in _NAMES}


def gather(flags: Mapping[str, object], environ: Mapping[str, str]) -> dict[str, GivenSetting]:
    """The given settings before validation. `data-dir` is always included."""
    default = {"data-dir": GivenSetting(str(default_data_dir()), "default")}
    by_flag = {
        name: GivenSetting(value, f"--{name}")
        for name, value in ((key.replace("_", "-"), value) for key, value in flags.items())
        if value is not None
    }
    return default | _from_file(config_file(environ)) | _from_environment(environ) | by_flag


def config_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The path of `config.toml`, which `EVERYAGENT_CONFIG` can change."""
    if given := environ.get(_PREFIX + "CONFIG"):
        return Path(given)
    from platformdirs import user_config_path

    return user_config_path("everyagent", appauthor=False) / "config.toml"


def default_data_dir() -> Path:
    from platformdirs import user_data_path

    return user_data_path("everyagent", appauthor=False)


def own_agents(environ: Mapping[str, str] = os.environ) -> dict[str, OwnAgent]:
    """The agents of the user's own, as `config.toml` has them now. Raises `ConfigError`."""
    given = _from_file(config_file(environ)).get("agents")
    return msgspec.convert(_converted("agents", given), dict[str, OwnAgent]) if given else {}


def add_own_agent(name: str, agent: OwnAgent, environ: Mapping[str, str] = os.environ) -> Path:
    """Append an agent to `config.toml`, whose other lines stay as they are. Raises `ConfigError`."""
    path = config_file(environ)
    if name in own_agents(environ):
        raise ConfigError(f"{path} has an agent {name!r} already. Change it there, or choose another name.")
    given = GivenSetting({name: msgspec.to_builtins(agent)}, f"the agent {name!r}")
    _converted("agents", given)
    words = ", ".join(msgspec.json.encode(word).decode() for word in agent.command)
    title = f"title = {msgspec.json.encode(agent.title).decode()}\n" if agent.title else ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(f"\n[agents.{name}]\ncommand = [{words}]\n{title}")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error}.") from error
    return path


def is_loopback(host: str) -> bool:
    return host in {"localhost", "::1"} or host.startswith("127.")


def agent_limits(settings: Settings) -> AgentLimits:
    """The limits of every session's agent. A setting of 0 is no limit. Raises `ConfigError`."""
    memory = int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * _MEMORY_SHARE)
    defaults = {"memory": memory, "processes": max(_PROCESSES, _PROCESSES_PER_CORE * (os.cpu_count() or 1))}
    given = {name: getattr(settings, f"session_{name}") for name in AgentLimits.__struct_fields__}
    values = {name: defaults.get(name) if value is None else value or None for name, value in given.items()}
    try:
        return msgspec.convert(msgspec.to_builtins(AgentLimits(**values)), AgentLimits)
    except msgspec.ValidationError as error:
        raise ConfigError(f"A limit of sessions (session-...) is too low: {error}.") from error


def retention(settings: Settings) -> Retention:
    """Which sessions are deleted by themselves."""
    return Retention(days=settings.retain_days, events=settings.retain_events, status=settings.retain_status)


def ensure_token(settings: Settings) -> str | None:
    """The token that the daemon accepts: the configured one, else that of the data folder, created if missing."""
    if settings.no_token:
        return None
    return settings.token or read_token(settings.data_dir) or _store_new_token(settings.data_dir, replace=False)


def read_prices(settings: Settings) -> Prices:
    """Read the prices of models: a JSON object by model id. A configured file must exist."""
    path = settings.prices or settings.data_dir / PRICES_FILE
    try:
        return Prices(msgspec.json.decode(path.read_bytes(), type=dict[str, Price]))
    except FileNotFoundError as error:
        if settings.prices is None:
            return UNPRICED
        raise ConfigError(f"The price file {path} does not exist.") from error
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"The price file {path} cannot be read: {error}.") from error


def read_token(data_dir: Path) -> str | None:
    try:
        return (data_dir / TOKEN_FILE).read_text().strip() or None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"The token file cannot be read: {error}.") from error


def rotate_token(data_dir: Path) -> str:
    """Replace the token by a new one."""
    return _store_new_token(data_dir, replace=True)


def _store_new_token(data_dir: Path, *, replace: bool) -> str:
    """Create the token file, readable by its owner only. Two daemons that start at once get the same token."""
    token = secrets.token_hex(32)
    fresh = data_dir / f"token.{secrets.token_hex(4)}"
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(token + "\n")
            if replace:
                fresh.replace(data_dir / TOKEN_FILE)
            else:
                (data_dir / TOKEN_FILE).hardlink_to(fresh)
        finally:
            fresh.unlink(missing_ok=True)
    except FileExistsError:
        return read_token(data_dir) or rotate_token(data_dir)
    except OSError as error:
        raise ConfigError(f"The token cannot be stored in {data_dir}: {error}.") from error
    return token


def _from_environment(environ: Mapping[str, str]) -> dict[str, GivenSetting]:
    """Unknown variables with our prefix are ignored, unless the name looks like a misspelled setting."""
    known = {_PREFIX + name.replace("-", "_").upper(): name for name in _NAMES if name not in _FILE_ONLY}
    for variable in environ:
        if variable.startswith(_PREFIX) and variable not in known and (near := _nearest(variable, known)):
            raise ConfigError(f"Unknown setting {variable}. Did you mean {near}?")
    return {
        name: GivenSetting(environ[variable], variable) for variable, name in known.items() if environ.get(variable)
    }


def _nearest(name: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, known, n=1, cutoff=0.9)), None)


def _from_file(path: Path) -> dict[str, GivenSetting]:
    import tomllib

    try:
        table = tomllib.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from error
    for key in table:
        if key.replace("_", "-") not in _NAMES:
            raise ConfigError(f"Unknown setting {key!r} in {path}. Known settings: {', '.join(_NAMES)}.")
    return {key.replace("_", "-"): GivenSetting(value, f"{key} in {path}") for key, value in table.items()}


def _converted(name: str, given: GivenSetting) -> object:
    if name not in _TYPES:
        raise ConfigError(f"Unknown setting {name!r} ({given.origin}). Known settings: {', '.join(_NAMES)}.")
    if name in _PATHS and isinstance(given.value, str | Path):
        return Path(given.value).expanduser().absolute()
    if name in _SIZES and isinstance(given.value, str) and (size := _SIZE.fullmatch(given.value.strip())):
        return int(float(size[1]) * _UNITS[size[2].upper()])
    try:
        return msgspec.convert(given.value, type=_TYPES[name], strict=not isinstance(given.value, str))
    except msgspec.ValidationError as error:
        shown = "" if name in ("token", "store", "bus", "oidc", "vault-key") else f" {given.value!r}"
        raise ConfigError(f"{given.origin} has an invalid value{shown}: {error}.") from error
