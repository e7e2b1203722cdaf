"""Makes the environment of an agent: only variables on an allow list are passed on from the daemon."""

from collections.abc import Collection, Mapping

#: Variables in the environment of every process that a daemon starts, and of its descendants, to find them again.
DAEMON_MARKER = "EVERYAGENT_DAEMON"
SPAWN_MARKER = "EVERYAGENT_SPAWN"

_OWN_PREFIX = "EVERYAGENT_"
_PASSED = frozenset(
    {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "LANGUAGE",
        "TERM",
        "TMPDIR",
        "TZ",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "NODE_EXTRA_CA_CERTS",
    }
)


def scrubbed(source: Mapping[str, str], *, allow: Collection[str] = (), session: Mapping[str, str]) -> dict[str, str]:
    """`source` is the daemon's environment; `allow` names further variables that the adapter needs.

    The session's variables take precedence. EVERYAGENT_* variables of the daemon are never passed on.
    """
    passed = {
        name: value
        for name, value in source.items()
        if (name in _PASSED or name.startswith("LC_") or name in allow) and not name.startswith(_OWN_PREFIX)
    }
    return passed | dict(session)
