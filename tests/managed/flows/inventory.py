"""Lists every method of the SDK without calling it."""

from loose import Loose

RESOURCES = (
    "agents",
    "environments",
    "sessions",
    "vaults",
    "files",
    "skills",
    "memory_stores",
    "deployments",
    "deployment_runs",
)


def flow(client: Loose) -> None:
    for name in RESOURCES:
        if hasattr(client.beta, name):
            getattr(client.beta, name).call_everything()
