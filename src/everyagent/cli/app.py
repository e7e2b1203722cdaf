"""The tree of commands. Each is loaded when it is called, so that none waits for what another needs."""

from cyclopts import App

from everyagent import __version__
from everyagent.cli.exit_codes import EPILOGUE

app = App(
    name="everyagent",
    help="Every coding agent behind one API, with one durable event log.",
    help_epilogue=EPILOGUE,
    version=__version__,
)

app.command("everyagent.cli.serve:serve", name="serve", help="Start the daemon.")
app.command("everyagent.cli.run:run", name="run", help="Give an agent one task, here in the terminal.")
app.command("everyagent.cli.sessions:app", name="sessions", help="List, follow, steer and stop sessions.")
app.command("everyagent.cli.agents:app", name="agents", help="What agents there are; install them.")
app.command("everyagent.cli.managed:app", name="managed", help="Prove what managed sessions tell, or make it anew.")
app.command("everyagent.cli.search:search", name="search", help="Full text, over all transcripts.")
app.command("everyagent.cli.doctor:doctor", name="doctor", help="What is set up, what is missing, what to do.")
app.command("everyagent.cli.token:token", name="token", help="Show the token, or make a new one.")
app.command("everyagent.cli.vault:app", name="vault", help="The key that secrets are sealed with.")
app.command("everyagent.cli.completion:completion", name="completion", help="Complete commands in your shell.")


def help_for(words: list[str]) -> str:
    """The command whose help explains how these words should have been put."""
    known = ["everyagent"]
    level = app
    for word in words:
        if word.startswith("-") or word not in level:
            break
        known.append(word)
        level = level[word]
    return " ".join([*known, "--help"])
