"""`everyagent log`: checks the stored log."""

from pathlib import Path

from cyclopts import App

from everyagent import config
from everyagent.cli.exit_codes import EPILOGUE, CliFailure
from everyagent.cli.output import err, say

app = App(name="log", help="Check the stored log.", help_epilogue=EPILOGUE)


@app.command
def verify(*, store: str | None = None, blobs: str | None = None, data_dir: Path | None = None) -> None:
    """Check every event: sequences without gaps, ids, and blobs by their digest. Exits with 1 if something is wrong.

    Only reads; the daemon may run.

    Parameters
    ----------
    store
        The PostgreSQL database of the log. [default: SQLite in the data folder] [env: EVERYAGENT_STORE]
    blobs
        Where the blobs are, as for serve. [env: EVERYAGENT_BLOBS]
    data_dir
        The data folder. [env: EVERYAGENT_DATA_DIR]
    """
    from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from everyagent.log.sql.verify import verify as check
    from everyagent.store import reading

    settings = config.load({"store": store, "blobs": blobs, "data_dir": data_dir})
    sessions = events = blob_count = wrong = 0
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    with reading(settings) as (connection, open_blob):
        row = connection.execute("SELECT count(*) FROM sessions").fetchone()
        with Progress(*columns, console=err(), transient=True, disable=not err().is_terminal) as progress:
            task = progress.add_task("sessions", total=int(row[0] or 0) if row else 0)
            for checked in check(connection, open_blob):
                wrong += len(checked.problems)
                for problem in checked.problems:
                    progress.console.print(f"{checked.session_id or 'blobs'}: {problem}", markup=False, soft_wrap=True)
                if checked.session_id is None:
                    blob_count = checked.amount
                else:
                    sessions, events = sessions + 1, events + checked.amount
                progress.advance(task)
    summary = f"{sessions} sessions, {events} events and {blob_count} blobs were checked"
    if wrong:
        raise CliFailure(f"{summary}: {wrong} problems. Put what is missing or damaged back from a backup.")
    say(f"{summary}. All are whole.")
