"""What each SDK was seen to do with each agent: written by the flows' tests, shown in docs/managed-agents.md.

`EVERYAGENT_WRITE_PARITY=1` writes it anew; otherwise a flow that does more or less than is written there fails.
"""

import os
from pathlib import Path

import msgspec

from tests.managed.sdks import Report, Sdk

FOLDER = Path(__file__).parent / "parity"


def check(sdk: Sdk, flow: str, agent: str, report: Report) -> None:
    path = FOLDER / agent / f"{flow}.{sdk.name}.json"
    if os.environ.get("EVERYAGENT_WRITE_PARITY"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")
    assert report == msgspec.json.decode(path.read_bytes(), type=Report), f"see {__name__} for how to write it anew"
