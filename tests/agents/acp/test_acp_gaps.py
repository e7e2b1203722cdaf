"""What each ACP agent leaves out: the list of `docs/agents/acp.md`, made from the profiles.

After a change: `EVERYAGENT_WRITE_GOLDEN=1 pytest -n 0 tests/agents/acp/test_acp_gaps.py`, then read the diff.
"""

import os
from pathlib import Path

from own_session import OwnSession

from everyagent.agents.acp import profiles
from everyagent.agents.registry import ACP_AGENTS

PAGE = Path(__file__).parents[3] / "docs" / "agents" / "acp.md"
BEGIN, END = "<!-- made by tests/agents/acp/test_acp_gaps.py -->", "<!-- end -->"


def test_the_page_lists_the_gaps_of_every_profile() -> None:
    loaded = [profiles.load(name) for name in ACP_AGENTS]
    made = "".join(f"* **{each.title}**: {' '.join(each.gaps)}\n" for each in loaded if each.gaps)
    before, _, rest = PAGE.read_text().partition(f"{BEGIN}\n")
    shown, _, after = rest.partition(END)
    if os.environ.get("EVERYAGENT_WRITE_GOLDEN"):
        PAGE.write_text(f"{before}{BEGIN}\n{made}{END}{after}")
    else:
        assert shown == made


def test_the_api_lists_the_gaps_of_an_agent(session: OwnSession) -> None:
    listed = session.create().call("GET", "/agents").json()["agents"]
    gaps = {each["id"]: each.get("gaps", []) for each in listed}
    assert gaps["gemini"] == list(profiles.load("gemini").gaps)
    assert (gaps["mine"], gaps["claude"]) == ([], [])
