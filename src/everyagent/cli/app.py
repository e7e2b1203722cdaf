"""The command tree of the CLI. A command's module is loaded when it is called, which keeps every start short."""

from cyclopts import App

from everyagent import __version__
from everyagent.cli.exit_codes import EPILOGUE

app = App(
    name="everyagent",
    help="Every coding agent behind one API, with one durable event log.",
    help_epilogue=EPILOGUE,
    version=__version__,
)

app.command(
    "everyagent.cli.serve:serve",
    name="serve",
    alias="server",
    help="Start the daemon.\n\n"
    "Every option can also be set by an environment variable (EVERYAGENT_PORT for --port) or in config.toml.",
)
app.command(
    "everyagent.cli.run:run",
    name="run",
    help="Give an agent one task and show its turn in the terminal.\n\n"
    "The agent's messages go to stdout as they arrive; tool calls, reasoning and questions go to stderr. Uses the "
    "running daemon. If none runs, starts one for this command. Ctrl-C stops the turn; a second Ctrl-C leaves.",
)
app.command(
    "everyagent.cli.sessions:app", name="sessions", help="List, follow, message, answer, stop and export sessions."
)
app.command(
    "everyagent.cli.acp.command:acp",
    name="acp",
    help="Be an agent of the Agent Client Protocol on stdin and stdout, for editors.\n\n"
    "The editor's sessions are sessions of the daemon: other clients see and answer them, and they can be loaded again "
    "after the editor has left. Uses the running daemon. If none runs, starts one for this command.",
)
app.command(
    "everyagent.cli.mcp:mcp",
    name="mcp",
    help="Serve sessions as MCP tools on stdin and stdout, so that an agent can drive other agents.",
)
app.command("everyagent.cli.asks:asks", name="asks", help="Answer or list the open asks of all sessions.")
app.command("everyagent.cli.agents:app", name="agents", help="List, install, log in, add and check coding agents.")
app.command("everyagent.cli.models:models", name="models", help="List the models of agents.")
app.command(
    "everyagent.cli.managed:app", name="managed", help="Check or rebuild the stored events of managed sessions."
)
app.command("everyagent.cli.search:search", name="search", help="Search the transcripts of all sessions.")
app.command(
    "everyagent.cli.usage:usage",
    name="usage",
    help="Sum tokens, cost and waiting by day, agent, model, project and more.",
)
app.command("everyagent.cli.doctor:doctor", name="doctor", help="Check this installation, its settings and its agents.")
app.command("everyagent.cli.token:token", name="token", help="Print the access token, or replace it.")
app.command("everyagent.cli.keys:app", name="keys", help="Make, list and revoke API keys.")
app.command("everyagent.cli.webhooks:app", name="webhooks", help="Tell other servers what happens in sessions.")
app.command(
    "everyagent.cli.runner:app",
    name="runner",
    help="Run agents of a daemon on this machine, and manage the keys for it.",
)
app.command("everyagent.cli.runners:runners", name="runners", help="List the runners of the daemon.")
app.command("everyagent.cli.audit:app", name="audit", help="Show who did what, and check the record of it.")
app.command("everyagent.cli.log:app", name="log", help="Check the stored log.")
app.command("everyagent.cli.disk:disk", name="disk", help="Show what takes up space in the data folder.")
app.command(
    "everyagent.cli.backup:backup", name="backup", help="Back up the log into one checked file. The daemon may run."
)
app.command(
    "everyagent.cli.backup:restore", name="restore", help="Put a backup into a data folder that has no log yet."
)
app.command("everyagent.cli.cluster:app", name="cluster", help="Show the daemons that share a database.")
app.command(
    "everyagent.cli.dev_cluster:run",
    name="dev-cluster",
    help="Start a cluster on this machine, to try it: three nodes, PostgreSQL and NATS. Ctrl-C stops all of it.",
)
app.command("everyagent.cli.vault:app", name="vault", help="Manage the key that encrypts stored secrets.")
app.command("everyagent.cli.completion:completion", name="completion", help="Print or install shell completion.")


def lacks_command(words: list[str]) -> bool:
    """Whether the words name a group of commands, but none of them. `everyagent` alone asks for help."""
    level = app
    for word in words:
        if word.startswith("-") or word not in level:
            return False
        level = level[word]
    return bool(words) and level.default_command is None


def help_for(words: list[str]) -> str:
    """The `--help` command line of the innermost command that these words name."""
    known = ["everyagent"]
    level = app
    for word in words:
        if word.startswith("-") or word not in level:
            break
        known.append(word)
        level = level[word]
    return " ".join([*known, "--help"])
