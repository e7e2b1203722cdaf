"""Translates the words of sandbox-agent's command `server` into those of `serve`."""

from collections.abc import Sequence

_SHORT = {
    "-H": "--host",
    "-p": "--port",
    "-t": "--token",
    "-n": "--no-token",
    "-O": "--cors-allow-origin",
    "-M": "--cors-allow-method",
    "-A": "--cors-allow-header",
    "-C": "--cors-allow-credentials",
}
#: Pages of an allowed origin may use every method and header; there are no cookies to allow, and no telemetry.
_WITHOUT_EFFECT = {"--cors-allow-credentials", "--no-telemetry"}
_WITHOUT_EFFECT_WITH_VALUE = {"--cors-allow-method", "--cors-allow-header"}
_GLOBAL = {"--token", "--no-token"}


def serve_words(words: Sequence[str]) -> list[str]:
    """`server` becomes `serve`, also behind its global options. Words of other commands are returned as they are."""
    at = _command(words)
    if at is None:
        return list(words)
    options: list[str] = []
    origins: list[str] = []
    ahead = iter([*words[:at], *words[at + 1 :]])
    for word in ahead:
        name, equals, value = word.partition("=")
        name = _SHORT.get(name, name)
        if name in _WITHOUT_EFFECT:
            continue
        if name in _WITHOUT_EFFECT_WITH_VALUE or name == "--cors-allow-origin":
            value = value if equals else next(ahead, "")
            origins += [value] if name == "--cors-allow-origin" else []
        else:
            options.append(f"{name}{equals}{value}")
    return ["serve", *options, *(["--allowed-origin", ",".join(origins)] if origins else [])]


def _command(words: Sequence[str]) -> int | None:
    """The place of `server`, if only global options come before it."""
    at = 0
    while at < len(words):
        name, equals, _ = words[at].partition("=")
        name = _SHORT.get(name, name)
        if name not in _GLOBAL:
            return at if words[at] == "server" else None
        at += 1 if equals or name == "--no-token" else 2
    return None
