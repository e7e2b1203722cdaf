"""`everyagent sessions set`: changes how long a session waits for answers."""

from typing import Literal

from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.exit_codes import CliFailure, ExitCode
from everyagent.cli.output import print_json, say
from everyagent.cli.session_flags import ask_timeout_of


def set_session(
    session: str,
    /,
    *,
    ask_timeout: float | None = None,
    ask_default: Literal["deny", "allow"] = "deny",
    ask_text: str | None = None,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """Change how long a session waits for answers.

    Parameters
    ----------
    session
        The session's id.
    ask_timeout
        Seconds after which the daemon answers an ask that nobody has answered; 0: asks wait for ever.
    ask_default
        The daemon's answer to a permission.
    ask_text
        The daemon's answer to a question. [default: the question is skipped]
    """
    if ask_timeout is None:
        raise CliFailure("Nothing to change. Give --ask-timeout.", ExitCode.USAGE)
    timeout = ask_timeout_of(ask_timeout, ask_default, ask_text) if ask_timeout else None
    with options.client() as client:
        info = client.update(session, ask_timeout=timeout)
    if options.json:
        print_json(info)
    else:
        say(f"{session} is changed. `everyagent sessions show {session}` shows its settings.")
