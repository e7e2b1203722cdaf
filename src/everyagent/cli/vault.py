"""`everyagent vault`: manages the key that encrypts stored secrets."""

from pathlib import Path

import anyio
from cyclopts import App

from everyagent import config
from everyagent.cli.exit_codes import EPILOGUE
from everyagent.cli.output import say
from everyagent.clock import SystemClock

app = App(name="vault", help="Manage the key that encrypts stored secrets.", help_epilogue=EPILOGUE)


@app.command
def rotate(*, data_dir: Path | None = None) -> None:
    """Replace the key and encrypt every stored secret again. Stop the daemon first.

    Parameters
    ----------
    data_dir
        The data folder. [env: EVERYAGENT_DATA_DIR]
    """
    settings = config.load({"data_dir": data_dir})
    count = anyio.run(_rotate, settings)
    say(f"The key was replaced; {count} secret{'s were' if count != 1 else ' was'} encrypted again.")


async def _rotate(settings: config.Settings) -> int:
    from everyagent.sessions.launch.secrets import SecretVault
    from everyagent.store import open_log
    from everyagent.vault_key import given_by, vault_file

    if given_by(settings) not in (None, "vault-key-file"):
        raise config.ConfigError(
            f"The key is given by {given_by(settings)}, so it cannot be replaced here. Write it to a file, name that "
            "file in EVERYAGENT_VAULT_KEY_FILE, rotate it there, and give the new key again."
        )
    log = await open_log(settings, SystemClock())
    try:
        vault = SecretVault.rotate(vault_file(settings))
        count = await log.reseal(lambda sealed, about: vault.seal(vault.unseal(sealed, about), about))
        vault.forget_older()
    finally:
        await log.close()
    return count
