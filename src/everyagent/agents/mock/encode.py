"""Encodes commands as the mock's lines. Pure."""

import msgspec

from everyagent.agents.adapter import Change, Launch, Prompt
from everyagent.errors import AgentFailed
from everyagent.model.asks import Answer, PermissionAnswer, QuestionAnswer, ToolAnswer

_encoder = msgspec.json.Encoder()


def start(launch: Launch) -> bytes:
    """The first frame. Without secrets, because frames are logged: `launch.py` puts those into the environment."""
    return _line(
        "start",
        session=launch.native_session_id,
        scratch=str(launch.scratch),
        model=launch.model,
        variant=launch.variant,
        agent_mode=launch.agent_mode,
        permission_mode=launch.permission_mode,
        system_prompt=launch.system_prompt,
        seed=launch.seed,
        tools=[tool.name for tool in launch.tools],
        mcp=list(launch.mcp),
        policies=launch.policies,
    )


def prompt(prompt: Prompt) -> bytes:
    return _line("prompt", item=prompt.item_id, text=prompt.text, attachments=prompt.attachments)


def steer(prompt: Prompt) -> bytes:
    return _line("steer", item=prompt.item_id, text=prompt.text, attachments=prompt.attachments)


def answer(ask: str, answer: Answer) -> bytes:
    match answer:
        case PermissionAnswer():
            return _line("answer", id=ask, reply=answer.reply, message=answer.message)
        case QuestionAnswer():
            return _line("answer", id=ask, answers=answer.answers, message=answer.message)
        case ToolAnswer():
            raise AgentFailed("The mock agent gets tool outputs from the MCP server, so this answer was not sent.")


def interrupt() -> bytes:
    return _line("interrupt")


def interrupt_subagent(call: str) -> bytes:
    return _line("interrupt_subagent", call=call)


def change(change: Change) -> bytes:
    fields = msgspec.structs.asdict(change)
    return _line("change", **{name: value for name, value in fields.items() if value is not msgspec.UNSET})


def _line(type: str, **fields: object) -> bytes:
    return _encoder.encode({"type": type, **fields}) + b"\n"
