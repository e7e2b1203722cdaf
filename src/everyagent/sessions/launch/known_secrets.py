"""Collects the secrets of a session and of the daemon, by the names under which they are masked."""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

from everyagent.agents.adapter import Launch
from everyagent.model.tools import McpLocal, McpServer

#: A shorter value is too common a word to be masked wherever it occurs.
MIN_CHARS = 8
#: A line of a secret of several lines, such as a private key, is a secret of its own from this length.
_MIN_LINE_CHARS = 20
_SECRET_NAME = re.compile(r"key|token|secret|passw|pwd|credential|auth|cookie|private|signature|dsn", re.IGNORECASE)
#: Words, numbers, versions and flags: `production`, `us-east-1`, `UTF-8`.
_PLAIN_WORD = re.compile(r"[A-Za-z]+(?:[ _.-]?(?:[A-Za-z]+|\d{1,4}))*|[\d.,:-]{1,11}")
_PATHS = re.compile(r"(?:~?/[^\s:;=]*)(?::~?/[^\s:;=]*)*")
_SCHEME = re.compile(r"(?:bearer|basic|token|digest|apikey)\s+(\S.*)", re.IGNORECASE | re.DOTALL)
_FLAG = re.compile(r"-{1,2}([A-Za-z][\w-]*)")
_ASSIGNMENT = re.compile(r"(?:-{1,2})?([A-Za-z][\w-]*)[=:]\s*(.+)", re.DOTALL)


def launch_secrets(launch: Launch) -> dict[bytes, str]:
    """The secrets with which an agent is started."""
    found = session_secrets(launch.env, launch.mcp, launch.secrets)
    for name, token in (("tools_token", launch.tools_token), ("hook_token", launch.hook_token)):
        if token:
            found |= _named(name, token)
    return found


def session_secrets(
    env: Mapping[str, str], mcp: Mapping[str, McpServer], secrets: Mapping[str, str]
) -> dict[bytes, str]:
    """`secrets` are masked whatever they look like; variables unless they look harmless."""
    found: dict[bytes, str] = {}
    for name, server in mcp.items():
        for field, value in _mcp(server):
            found |= _named(f"{name}.{field}", value)
    for name, value in env.items():
        found |= _variable(name, value)
    for name, value in secrets.items():
        found |= _named(name, value)
    return found


def environment_secrets(environment: Mapping[str, str]) -> dict[bytes, str]:
    """Variables of the daemon's own environment that are secrets by their names: agents get some of them."""
    found: dict[bytes, str] = {}
    for name, value in environment.items():
        if _SECRET_NAME.search(name):
            found |= _variable(name, value)
    return found


def is_location(value: str) -> bool:
    """Whether a value is a path, several paths, or a URL without credentials."""
    return bool(_PATHS.fullmatch(value.strip())) or _credentials_of(value) == []


def _variable(name: str, value: str) -> dict[bytes, str]:
    if _PATHS.fullmatch(value.strip()):
        return {}
    if (parts := _credentials_of(value)) is not None:
        return {secret: name for part in parts for secret in _named(name, part)}
    if _PLAIN_WORD.fullmatch(value) and not _SECRET_NAME.search(name):
        return {}
    return _named(name, value)


def _mcp(server: McpServer) -> Iterator[tuple[str, str]]:
    if isinstance(server, McpLocal):
        for name, value in server.env.items():
            for secret in _variable(name, value):
                yield name, secret.decode()
        for before, argument in zip(["", *server.command], server.command, strict=False):
            flag, assigned = _FLAG.fullmatch(before), _ASSIGNMENT.fullmatch(argument)
            if flag and _SECRET_NAME.search(flag[1]):
                yield flag[1], argument
            elif assigned and _SECRET_NAME.search(assigned[1]):
                yield assigned[1], assigned[2]
    else:
        yield from server.headers.items()
        for secret in _credentials_of(server.url) or ():
            yield "url", secret


def _credentials_of(url: str) -> list[str] | None:
    """The password and the parameters of a URL; None if the value is no URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    if not parts.scheme or not parts.netloc or any(space in url for space in " \n\t"):
        return None
    userinfo = parts.netloc.rpartition("@")[0]
    password = userinfo.partition(":")[2] or userinfo
    written = [password, unquote(password), *(value for _, value in parse_qsl(parts.query))]
    return [value for value in written if value]


def _named(name: str, value: str) -> dict[bytes, str]:
    """The value, what follows the scheme of a header, and the lines of a long one. Too short ones are left out."""
    value = value.strip()
    credential = _SCHEME.fullmatch(value)
    values = [value, *([credential[1]] if credential else []), *_lines(value)]
    return {each.encode(): name for each in values if len(each) >= MIN_CHARS}


def _lines(value: str) -> list[str]:
    lines = [line.strip() for line in value.splitlines()]
    return [line for line in lines if len(line) >= _MIN_LINE_CHARS] if len(lines) > 1 else []
