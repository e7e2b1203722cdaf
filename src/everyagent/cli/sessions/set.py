"""`everyagent sessions set`: changes a session's budget, and how long it waits for answers."""

from typing import Literal

from msgspec import UNSET

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
    budget: float | None = None,
    budget_tokens: int | None = None,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """Change a session's budget, and how long it waits for answers.

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
    budget
        Dollars that all turns of the session may cost together; 0: no budget.
    budget_tokens
        Tokens that all turns of the session may use together; 0: no budget.
    """
    if ask_timeout is None and budget is None and budget_tokens is None:
        raise CliFailure("Nothing to change. Give --ask-timeout, --budget or --budget-tokens.", ExitCode.USAGE)
    timeout = ask_timeout_of(ask_timeout, ask_default, ask_text) if ask_timeout else None
    with options.client() as client:
        info = client.update(
            session,
            ask_timeout=UNSET if ask_timeout is None else timeout,
            budget_usd=UNSET if budget is None else budget or None,
            budget_tokens=UNSET if budget_tokens is None else budget_tokens or None,
        )
    if options.json:
        print_json(info)
    else:
        say(f"{session} is changed. `everyagent sessions show {session}` shows its settings.")
