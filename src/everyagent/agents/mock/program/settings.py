"""Settings of the session from its `start` frame; changed by `change` frames."""

from pathlib import Path
from typing import cast

from everyagent.agents.mock.program.policies import Policies

PRICES = {"mock-small": (1.0, 5.0), "mock-large": (3.0, 15.0)}  # dollars a million tokens, in and out


class MockSettings:
    """`stubborn`: the program ignores the end of stdin and SIGTERM."""

    def __init__(self, directory: Path, scratch: Path) -> None:
        self.directory = directory
        self.scratch = scratch
        self.model = "mock-small"
        self.variant = "low"
        self.agent_mode = "build"
        self.permission_mode = "default"
        self.policies: Policies = {}
        self.system_prompt: str | None = None
        self.seed: str | None = None
        self.tools: list[str] = []
        self.mcp: list[str] = []
        self.tools_url: str | None = None
        self.shell = "/bin/sh"
        self.tools_token: str | None = None
        self.stubborn = False

    def change(self, fields: dict[str, object]) -> None:
        """Missing fields do not change; null restores the default."""
        self.model = _chosen(fields, "model", self.model, "mock-small")
        self.variant = _chosen(fields, "variant", self.variant, "low")
        self.agent_mode = _chosen(fields, "agent_mode", self.agent_mode, "build")
        self.permission_mode = _chosen(fields, "permission_mode", self.permission_mode, "default")
        self.policies = cast(Policies, fields.get("policies", self.policies))
        if message := fields.get("system_message"):
            self.system_prompt = "\n\n".join(filter(None, (self.system_prompt, str(message))))

    @property
    def planning(self) -> bool:
        return "plan" in (self.agent_mode, self.permission_mode)

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        price_in, price_out = PRICES.get(self.model, (0.0, 0.0))
        return round((tokens_in * price_in + tokens_out * price_out) / 1_000_000, 9)


def _chosen(fields: dict[str, object], name: str, now: str, default: str) -> str:
    return str(fields[name] or default) if name in fields else now
