"""Settings: flags, then `EVERYAGENT_*`, then `config.toml`, then defaults; each remembers where it came from.

Also the token file, which is a setting the daemon writes itself.
"""

import os
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeAlias, get_type_hints

import msgspec
from msgspec import Meta, Struct

from everyagent.model.prices import UNPRICED, Price, Prices

LogFormat: TypeAlias = Literal["auto", "console", "json"]

#: In the data folder: where `serve` leaves its address, so that other commands find it on any port.
ADDRESS_FILE = "daemon.url"

#: In the data folder: what models cost, where the operator says so.
PRICES_FILE = "prices.json"

_PREFIX = "EVERYAGENT_"


class ConfigError(Exception):
    """A setting that cannot be used; says which, and where it was found."""


class Settings(Struct, frozen=True, kw_only=True, rename="kebab"):
    """`token` None: the one in the data folder's `token` file; `prices` None: its `prices.json`, if there is one.

    `idle_timeout` is in seconds.
    """

    data_dir: Path
    host: Annotated[str, Meta(min_length=1)] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 2468
    token: Annotated[str, Meta(min_length=1, pattern=r"^[!-~]+$")] | None = None
    no_token: bool = False
    default_agent: Annotated[str, Meta(min_length=1)] = "claude"
    idle_timeout: Annotated[float, Meta(gt=0)] = 600.0
    prices: Path | None = None
    log_format: LogFormat = "auto"


class GivenSetting(NamedTuple):
    """`origin` names the place as a person would look for it."""

    value: object
    origin: str


_NAMES: tuple[str, ...] = tuple(name.replace("_", "-") for name in Settings.__struct_fields__)
_TYPES: dict[str, object] = {
    name.replace("_", "-"): hint for name, hint in get_type_hints(Settings, include_extras=True).items()
}


def load(flags: Mapping[str, object] | None = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """`flags` are named as the fields are; those that are None were not given. Raises `ConfigError`."""
    given = gather(flags or {}, environ)
    values = {name: _converted(name, setting) for name, setting in given.items()}
    settings = msgspec.convert(values, Settings)
    if settings.no_token and not is_loopback(settings.host):
        raise ConfigError(
            f"Listening on {settings.host} without a token would let anybody on the network run agents here. "
            f"Leave out no-token ({given['no-token'].origin}), or listen on 127.0.0.1."
        )
    return settings


def origins(flags: Mapping[str, object] | None = None, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Where each setting comes from, by its name in `config.toml`."""
    given = gather(flags or {}, environ)
    return {name: given[name].origin if name in given else "default" for name in _NAMES}


def gather(flags: Mapping[str, object], environ: Mapping[str, str]) -> dict[str, GivenSetting]:
    """What was given, not yet checked; only `data-dir` is there always."""
    default = {"data-dir": GivenSetting(str(default_data_dir()), "default")}
    by_flag = {
        name: GivenSetting(value, f"--{name}")
        for name, value in ((key.replace("_", "-"), value) for key, value in flags.items())
        if value is not None
    }
    return default | _from_file(config_file(environ)) | _from_environment(environ) | by_flag


def config_file(environ: Mapping[str, str] = os.environ) -> Path:
    """`EVERYAGENT_CONFIG` names another one."""
    if given := environ.get(_PREFIX + "CONFIG"):
        return Path(given)
    from platformdirs import user_config_path

    return user_config_path("everyagent", appauthor=False) / "config.toml"


def default_data_dir() -> Path:
    from platformdirs import user_data_path

    return user_data_path("everyagent", appauthor=False)


def is_loopback(host: str) -> bool:
    return host in {"localhost", "::1"} or host.startswith("127.")


def ensure_token(settings: Settings) -> str | None:
    """The token the daemon takes: the one given, else the one in the data folder, made if there is none."""
    if settings.no_token:
        return None
    return settings.token or read_token(settings.data_dir) or _keep_new_token(settings.data_dir, replace=False)


def read_prices(settings: Settings) -> Prices:
    """What models cost: a JSON object by model id. A file that was named must be there."""
    path = settings.prices or settings.data_dir / PRICES_FILE
    try:
        return Prices(msgspec.json.decode(path.read_bytes(), type=dict[str, Price]))
    except FileNotFoundError as error:
        if settings.prices is None:
            return UNPRICED
        raise ConfigError(f"There is no file of prices {path}.") from error
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"The prices in {path} cannot be read: {error}.") from error


def read_token(data_dir: Path) -> str | None:
    try:
        return (data_dir / "token").read_text().strip() or None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"The token file cannot be read: {error}.") from error


def rotate_token(data_dir: Path) -> str:
    """A new token in place of the old one."""
    return _keep_new_token(data_dir, replace=True)


def _keep_new_token(data_dir: Path, *, replace: bool) -> str:
    """Readable by its owner alone from the first byte on. Of two that start at once, one makes the token for both."""
    token = secrets.token_hex(32)
    fresh = data_dir / f"token.{secrets.token_hex(4)}"
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(token + "\n")
            if replace:
                fresh.replace(data_dir / "token")
            else:
                (data_dir / "token").hardlink_to(fresh)
        finally:
            fresh.unlink(missing_ok=True)
    except FileExistsError:
        return read_token(data_dir) or rotate_token(data_dir)
    except OSError as error:
        raise ConfigError(f"The token cannot be kept in {data_dir}: {error}.") from error
    return token


def _from_environment(environ: Mapping[str, str]) -> dict[str, GivenSetting]:
    """Other programs may have variables with our prefix; one that is nearly ours is a slip of the hand."""
    known = {_PREFIX + name.replace("-", "_").upper(): name for name in _NAMES}
    for variable in environ:
        if variable.startswith(_PREFIX) and variable not in known and (near := _nearest(variable, known)):
            raise ConfigError(f"There is no setting {variable}. Did you mean {near}?")
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
            raise ConfigError(f"There is no setting {key!r} ({path}). There are: {', '.join(_NAMES)}.")
    return {key.replace("_", "-"): GivenSetting(value, f"{key} in {path}") for key, value in table.items()}


def _converted(name: str, given: GivenSetting) -> object:
    if name not in _TYPES:
        raise ConfigError(f"There is no setting {name!r} ({given.origin}). There are: {', '.join(_NAMES)}.")
    if name in ("data-dir", "prices") and isinstance(given.value, str | Path):
        return Path(given.value).expanduser().absolute()
    try:
        return msgspec.convert(given.value, type=_TYPES[name], strict=not isinstance(given.value, str))
    except msgspec.ValidationError as error:
        shown = "what it is" if name == "token" else repr(given.value)
        raise ConfigError(f"{given.origin} cannot be {shown}: {error}.") from error
