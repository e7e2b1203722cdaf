"""Reports of what each SDK did with each agent: written by the flows' tests, shown in docs/managed-agents.md.

`EVERYAGENT_WRITE_PARITY=1` writes them; otherwise a flow that differs from its report fails.
"""

import os
from pathlib import Path

import msgspec

from tests.managed.sdks import Report, Sdk

FOLDER = Path(__file__).parent / "parity"
#: The methods of each SDK.
INVENTORY = Path(__file__).parent / "inventory"


def check(sdk: Sdk, flow: str, agent: str, report: Report) -> None:
    _check(FOLDER / agent / f"{flow}.{sdk.name}.json", report)


def check_inventory(sdk: Sdk, report: Report) -> None:
    _check(INVENTORY / f"{sdk.name}.json", report)


def _check(path: Path, report: Report) -> None:
    if os.environ.get("EVERYAGENT_WRITE_PARITY"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")
    assert report == msgspec.json.decode(path.read_bytes(), type=Report), f"see {__name__} for how to write it anew"
