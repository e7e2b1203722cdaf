"""`everyagent sessions`: its subcommands, one file each."""

from cyclopts import App

from everyagent.cli.exit_codes import EPILOGUE

app = App(name="sessions", help="List, follow, message, answer, stop and export sessions.", help_epilogue=EPILOGUE)

app.command("everyagent.cli.sessions.list:list_sessions", name="list", help="List sessions, newest first.")
app.command("everyagent.cli.sessions.show:show", name="show", help="Show a session and its pending asks.")
app.command("everyagent.cli.sessions.tail:tail", name="tail", help="Print a session's events; -f follows new ones.")
app.command(
    "everyagent.cli.sessions.send:send",
    name="send",
    help="Send a message. Returns when it is stored, and prints its item id.",
)
app.command(
    "everyagent.cli.sessions.queue:queue",
    name="queue",
    help="List the messages that wait for their turn, or withdraw some.",
)
app.command("everyagent.cli.sessions.rename:rename", name="rename", help="Set a session's title.")
app.command(
    "everyagent.cli.sessions.set:set_session",
    name="set",
    help="Change a session's budget, and how long it waits for answers.",
)
app.command("everyagent.cli.sessions.answer:answer", name="answer", help="Answer an ask of a session's agent.")
app.command("everyagent.cli.sessions.cancel:cancel", name="cancel", help="Stop the running turn and keep the session.")
app.command(
    "everyagent.cli.sessions.terminate:terminate",
    name="terminate",
    help="End sessions and all their processes. Their events are kept.",
)
app.command(
    "everyagent.cli.sessions.fork:fork",
    name="fork",
    help="Copy a session and print the id of the copy, which continues separately.",
)
app.command(
    "everyagent.cli.sessions.rewind:rewind",
    name="rewind",
    help="Bring back a session's files and conversation, as they were at an event.",
)
app.command(
    "everyagent.cli.sessions.worktree:worktree",
    name="worktree",
    help="Show a session's git worktree and what is not merged yet.",
)
app.command(
    "everyagent.cli.sessions.worktree:merge",
    name="merge",
    help="Merge the work of a session's worktree into a branch.",
)
app.command(
    "everyagent.cli.sessions.worktree:drop",
    name="drop",
    help="End a session and remove its worktree and its branches.",
)
app.command(
    "everyagent.cli.sessions.export:export",
    name="export",
    help="Export a session as Markdown, HTML, JSONL or a test case.",
)
app.command(
    "everyagent.cli.sessions.prune:prune",
    name="prune",
    help="Delete old sessions, or show which ones the daemon would delete.",
)
app.command(
    "everyagent.cli.sessions.delete:delete",
    name="delete",
    help="Delete sessions and their events. This cannot be undone.",
)
