"""The head of an export, and the cleaning of foreign text."""

import re

import msgspec

from everyagent.clock import rfc3339
from everyagent.model.sessions import SessionInfo

_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_CONTROL = {code: chr(0x2400 + code) for code in range(32) if code not in (9, 10)} | {0x7F: "\u2421"}


def shown(text: str) -> str:
    """Removes terminal codes, replaces control characters by visible symbols, and normalizes line ends."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _TERMINAL_CODES.sub("", text).translate(_CONTROL)


def indented(arguments: str) -> str:
    """JSON with indentation; other text unchanged."""
    try:
        return msgspec.json.format(arguments, indent=2)
    except msgspec.DecodeError:
        return arguments


def title_of(info: SessionInfo) -> str:
    return " ".join(shown(info.title or info.session_id).split())


def facts_of(info: SessionInfo) -> list[tuple[str, str]]:
    facts = [
        ("Session", info.session_id),
        ("Agent", info.agent),
        ("Model", info.model),
        ("Directory", info.directory),
        ("Created", rfc3339(info.created_at * 1000)),
        ("Status", info.status),
        ("Tokens", info.usage.in_words()),
        ("Cost", f"{info.cost_usd:.4f} USD" if info.cost_usd else None),
        ("Forked from", f"{info.forked_from.session_id} at {info.forked_from.sequence}" if info.forked_from else None),
    ]
    return [(name, " ".join(shown(value).split())) for name, value in facts if value]


def data_uri(mime: str | None, data: str | None) -> str | None:
    """The data URI of an image; None for types that are not plain images."""
    if mime in ("image/png", "image/jpeg", "image/gif", "image/webp") and data and re.fullmatch(r"[\w+/=]+", data):
        return f"data:{mime};base64,{data}"
    return None
