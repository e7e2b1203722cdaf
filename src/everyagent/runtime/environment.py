"""The environment an agent gets: nothing of the daemon's but what is named here or by its adapter."""

from collections.abc import Collection, Mapping

#: Carried by everything a daemon starts, and by what that starts in turn: how strays are found again.
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
    """`source` is the daemon's own environment, `allow` names what the adapter needs of it besides.

    What the session gives wins. No EVERYAGENT_* variable of the daemon passes, even if an adapter names it.
    """
    passed = {
        name: value
        for name, value in source.items()
        if (name in _PASSED or name.startswith("LC_") or name in allow) and not name.startswith(_OWN_PREFIX)
    }
    return passed | dict(session)
