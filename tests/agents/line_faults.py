"""Fault cases of agents with one process for each session: Claude Code, Amp and the mock."""

from tests.agents.faults import FaultCase, command_cases, sends

from everyagent.runtime.process import Process

#: A message with which the scripted model calls a tool that needs a permission.
ASK = "Make it"
_PICTURE = {"data": "aGk=", "mime": "image/png", "filename": "dot.png"}


def line_cases(conversation: type, decoder: type, attachments: object) -> list[FaultCase]:
    return [
        *command_cases(conversation, ASK),
        FaultCase(decoder, "decode", sends("hello")),
        FaultCase(Process, "start", sends("hello")),
        FaultCase(attachments, "content", sends("What is it?", attachments=[_PICTURE])),
    ]
