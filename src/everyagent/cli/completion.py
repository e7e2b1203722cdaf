"""`everyagent completion`: prints or installs shell completion."""

from typing import Annotated, Literal

from cyclopts import Parameter

from everyagent.cli.output import say

Shell = Literal["bash", "zsh", "fish"]


def completion(
    shell: Shell, /, *, install: Annotated[bool, Parameter(negative=(), show_default=False)] = False
) -> None:
    """Print the completion script of a shell, for: source <(everyagent completion bash)

    Parameters
    ----------
    shell
        The shell.
    install
        Install the script where the shell finds it.
    """
    from everyagent.cli.app import app

    if install:
        say(f"Installed: {app.install_completion(shell=shell)}. Open a new shell to use completion.")
    else:
        print(app.generate_completion(shell=shell))
