"""`everyagent runner`: runs agents of a daemon on this machine; makes, lists and revokes the keys for it."""

import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import anyio
from cyclopts import App, Parameter

from everyagent import config, logs
from everyagent.cli.daemon_connection import connect
from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.exit_codes import EPILOGUE, CliFailure, ExitCode
from everyagent.cli.output import print_json, print_table, say
from everyagent.client.discovery import is_loopback
from everyagent.clock import rfc3339
from everyagent.model.isolation import IsolationChoice
from everyagent.model.runners import NewRunnerKey, RunnerKeyInfo

app = App(
    name="runner", help="Run agents of a daemon on this machine, and manage the keys for it.", help_epilogue=EPILOGUE
)
keys = App(name="keys", help="Make, list and revoke the keys with which runners connect.", help_epilogue=EPILOGUE)
app.command(keys)
_KEY = "EVERYAGENT_RUNNER_KEY"
#: The file descriptor of the key after the restart that takes it out of the environment and the command line.
_KEY_DESCRIPTOR = "EVERYAGENT_RUNNER_KEY_FD"


@app.default
def runner(
    *,
    connect: str,
    key: str | None = None,
    key_file: Path | None = None,
    directory: Path | None = None,
    label: Annotated[list[str], Parameter(negative=())] = [],  # noqa: B006 - cyclopts copies it
    isolation: IsolationChoice = "auto",
    data_dir: Path | None = None,
    spool_size: int = 256,
) -> None:
    """Run agents of a daemon on this machine, until Ctrl-C.

    The runner opens all connections itself, so it needs no open port. While the daemon cannot be reached, agents go on,
    and what they send is kept here.

    Parameters
    ----------
    connect
        The address of the daemon.
    key
        The runner's key, as `everyagent runner keys create` printed it. [env: EVERYAGENT_RUNNER_KEY]
    key_file
        A file with the key.
    directory
        The folder in which sessions work, or below it. [default: the working directory]
    label
        A label NAME=VALUE by which sessions can choose this runner; repeat it for more.
    isolation
        What separates the agents from this machine: auto, none or namespace.
    data_dir
        The data folder, for installed agents and what is not sent yet. [env: EVERYAGENT_DATA_DIR]
    spool_size
        The MiB that are kept of what agents sent and the daemon has not taken; then agents are not read.
    """
    key_id, secret = _key(_given_key(key, key_file))
    labels = dict(_label(each) for each in label)
    try:
        settings = config.load({"data_dir": data_dir})
    except config.ConfigError as error:
        raise CliFailure(str(error), ExitCode.USAGE) from error
    # loaded here, because `runner keys` does not need it
    from everyagent.runner.downlink import RunnerStopped
    from everyagent.runner.host import RunnerSettings
    from everyagent.runner.run import run

    if connect.startswith("http:") and not is_loopback(connect):
        say(f"Warning: {connect} is not encrypted, and commands carry the sessions' secrets. Use https.", "yellow")
    logs.set_up(settings.log_format)
    given = RunnerSettings(
        url=connect,
        directory=directory or Path.cwd(),
        folder=settings.data_dir / "runners" / key_id,
        data_dir=settings.data_dir,
        labels=labels,
        isolation=isolation,
        spool_bytes=spool_size << 20,
    )
    try:
        anyio.run(
            run, given, key_id, secret, lambda: say(f"Connected to {connect}."), backend_options={"use_uvloop": True}
        )
    except RunnerStopped as error:
        raise CliFailure(str(error), ExitCode.FAILED) from error


@keys.command
def create(name: str, /, *, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """Make a key for a runner and print it. It is not shown again.

    Parameters
    ----------
    name
        The name of the runner, by which sessions choose it. To replace a runner's key, make another for its name.
    """

    async def made() -> NewRunnerKey:
        async with connect(options) as connection:
            return await connection.client.create_runner_key(name)

    new = anyio.run(made, backend_options={"use_uvloop": True})
    if options.json:
        print_json(new)
        return
    say(f"Made the key {new.key.key_id} for the runner {new.key.name}. It is not shown again:")
    print(new.secret)


@keys.command(name="list")
def list_keys(*, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """List the keys of runners, newest first."""

    async def listed() -> list[RunnerKeyInfo]:
        async with connect(options) as connection:
            return await connection.client.runner_keys()

    found = anyio.run(listed, backend_options={"use_uvloop": True})
    if options.json:
        print_json(found)
        return
    rows = [
        (key.key_id, key.name, rfc3339(key.created_at * 1000)[:16], "valid" if key.revoked_at is None else "revoked")
        for key in found
    ]
    print_table(("KEY", "RUNNER", "CREATED", "STATE"), rows)


@keys.command
def revoke(key_id: str, /, *, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """Refuse a runner's key from now on. Its connection ends.

    Parameters
    ----------
    key_id
        The id of the key, as `runner keys list` shows it.
    """

    async def revoked() -> RunnerKeyInfo:
        async with connect(options) as connection:
            return await connection.client.revoke_runner_key(key_id)

    key = anyio.run(revoked, backend_options={"use_uvloop": True})
    if options.json:
        print_json(key)
    else:
        say(f"Revoked {key.key_id} of the runner {key.name}.")


def _given_key(key: str | None, key_file: Path | None) -> str:
    """The key. One that came by the command line or the environment is taken out of both by a restart of the process:

    agents of the same user can read those of a running process.
    """
    if descriptor := os.environ.pop(_KEY_DESCRIPTOR, None):
        with open(int(descriptor), encoding="utf-8") as passed:
            return passed.read()
    if key_file is not None:
        try:
            return key_file.read_text()
        except OSError as error:
            raise CliFailure(f"--key-file {key_file}: {error.strerror}.", ExitCode.USAGE) from error
    key = key or os.environ.get(_KEY)
    if not key:
        raise CliFailure(
            f"The runner needs a key: --key-file, {_KEY} or --key. `everyagent runner keys create NAME` makes one.",
            ExitCode.USAGE,
        )
    _restart_without(key)


def _restart_without(key: str) -> NoReturn:
    read, write = os.pipe()
    os.write(write, key.encode())
    os.close(write)
    os.set_inheritable(read, True)
    words = sys.orig_argv[1:]
    kept = [
        word
        for number, word in enumerate(words)
        if word not in ("--key", f"--key={key}") and words[number - 1] != "--key"
    ]
    environment = {name: value for name, value in os.environ.items() if name != _KEY} | {_KEY_DESCRIPTOR: str(read)}
    os.execve(sys.executable, [sys.orig_argv[0], *kept], environment)


def _key(text: str) -> tuple[str, bytes]:
    """The id of the key, and its signing secret."""
    from everyagent.remote.keys import parsed_key
    from everyagent.remote.wire import signing_secret

    try:
        key_id, key = parsed_key(text)
    except ValueError as error:
        raise CliFailure(str(error), ExitCode.USAGE) from error
    return key_id, signing_secret(key)


def _label(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not name or not sign:
        raise CliFailure(f"--label {text}: write NAME=VALUE.", ExitCode.USAGE)
    return name, value
