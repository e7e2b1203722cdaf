"""`everyagent vault`: the key that secrets are sealed with."""

from pathlib import Path

import anyio
from cyclopts import App

from everyagent import config
from everyagent.cli.exit_codes import EPILOGUE
from everyagent.cli.output import say
from everyagent.clock import SystemClock

app = App(name="vault", help="The key that secrets are sealed with.", help_epilogue=EPILOGUE)


@app.command
def rotate(*, data_dir: Path | None = None) -> None:
    """Make a new key, and seal every secret anew with it. Stop the daemon first.

    Parameters
    ----------
    data_dir
        The data folder. [env: EVERYAGENT_DATA_DIR]
    """
    settings = config.load({"data_dir": data_dir})
    count = anyio.run(_rotate, settings.data_dir)
    say(f"The old key is gone; {count} secret{'s are' if count != 1 else ' is'} sealed with the new one.")


async def _rotate(folder: Path) -> int:
    from everyagent.log.sqlite.log import SqliteLog
    from everyagent.sessions.launch.secrets import Vault

    log = await SqliteLog.open(folder, SystemClock())
    try:
        vault = Vault.rotate(folder / "vault.key")
        count = await log.reseal(lambda sealed, about: vault.seal(vault.unseal(sealed, about), about))
        vault.forget_older()
    finally:
        await log.close()
    return count
