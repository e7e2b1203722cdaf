"""`everyagent completion`."""

from typing import Annotated, Literal

from cyclopts import Parameter

from everyagent.cli.output import say

Shell = Literal["bash", "zsh", "fish"]


def completion(
    shell: Shell, /, *, install: Annotated[bool, Parameter(negative=(), show_default=False)] = False
) -> None:
    """Complete commands in your shell. Prints the script: source <(everyagent completion bash)

    Parameters
    ----------
    shell
        Which.
    install
        Put it where the shell finds it, for good.
    """
    from everyagent.cli.app import app

    if install:
        say(f"Installed: {app.install_completion(shell=shell)}. Open a new shell to use it.")
    else:
        print(app.generate_completion(shell=shell))
