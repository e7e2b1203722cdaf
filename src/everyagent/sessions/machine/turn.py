"""The turn that runs in a session."""

import asyncio

from everyagent.agents.adapter import Death, Prompt


class Turn:
    """`prompt` is None for a turn that the agent began by itself.

    `prompted`: the agent has been given it; `heard`: it has told something since.
    """

    def __init__(self, prompt: Prompt | None) -> None:
        self.prompt = prompt
        self.over = asyncio.Event()
        self.prompted = prompt is None
        self.heard = False
        self.cancelled = False
        self.tries = 0

    def may_go_on(self, death: Death) -> bool:
        """Whether a new agent may be given the same prompt, though this one died."""
        return self.prompt is not None and not self.cancelled and not death.expected

    def worth_a_try(self, death: Death) -> bool:
        """Whether the same again may go better: it said nothing yet, and no known reason speaks against it."""
        return self.may_go_on(death) and not self.heard and death.code in (None, "network")
