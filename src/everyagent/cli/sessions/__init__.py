"""`everyagent sessions`: one file a verb."""

from cyclopts import App

from everyagent.cli.exit_codes import EPILOGUE

app = App(name="sessions", help="List, follow, steer and stop sessions.", help_epilogue=EPILOGUE)

app.command("everyagent.cli.sessions.list:list_sessions", name="list", help="Newest first.")
app.command("everyagent.cli.sessions.show:show", name="show", help="One session, and what it waits for.")
app.command("everyagent.cli.sessions.tail:tail", name="tail", help="Its events; -f goes on as they come.")
app.command("everyagent.cli.sessions.send:send", name="send", help="Send it a message.")
app.command("everyagent.cli.sessions.answer:answer", name="answer", help="Answer what its agent asks.")
app.command("everyagent.cli.sessions.cancel:cancel", name="cancel", help="Stop the turn, keep the session.")
app.command("everyagent.cli.sessions.terminate:terminate", name="terminate", help="End it and all its processes.")
app.command("everyagent.cli.sessions.fork:fork", name="fork", help="A copy that goes its own way.")
app.command("everyagent.cli.sessions.export:export", name="export", help="As Markdown, HTML or JSONL.")
app.command("everyagent.cli.sessions.delete:delete", name="delete", help="Delete it with everything it said.")
