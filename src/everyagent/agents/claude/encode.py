"""Encodes commands as Claude Code's lines. Pure."""

from collections.abc import Sequence

import msgspec

from everyagent.agents.claude import answers
from everyagent.agents.claude.asks import Ask
from everyagent.model.asks import Answer

_encoder = msgspec.json.Encoder()


def initialize(request_id: str, system_prompt: str | None = None, hooks: object = None) -> bytes:
    """The first request. Its response lists models and commands; nothing depends on it.

    Without a snapshot, an agent that resumes its session takes the system prompt of now, not that of its first start.
    """
    more = {"appendSystemPrompt": system_prompt, "systemPromptSnapshot": False} if system_prompt else {}
    return request(request_id, "initialize", hooks=hooks, **more)


def prompt(uuid: str, content: str | Sequence[object]) -> bytes:
    """A user's message. During a turn the agent reads it after the next tool call, else it begins a turn."""
    message = {"role": "user", "content": content}
    return _line(type="user", message=message, parent_tool_use_id=None, session_id="", uuid=uuid)


def text(words: str) -> dict[str, object]:
    return {"type": "text", "text": words}


def interrupt(request_id: str) -> bytes:
    """Queued messages are withdrawn as well, so that the agent does not continue after an interrupt."""
    return request(request_id, "interrupt", cancel_queued=True)


def stop_task(request_id: str, task: str) -> bytes:
    return request(request_id, "stop_task", task_id=task)


def set_model(request_id: str, model: str | None) -> bytes:
    return request(request_id, "set_model", model=model)


def set_mode(request_id: str, mode: str) -> bytes:
    return request(request_id, "set_permission_mode", mode=mode)


def set_flags(request_id: str, settings: object) -> bytes:
    return request(request_id, "apply_flag_settings", settings=settings)


def answer(request_id: str, ask: Ask, answer: Answer) -> bytes:
    return settle(request_id, answers.response(ask, answer))


def lapse(request_id: str, ask: Ask) -> bytes:
    return settle(request_id, answers.lapsed(ask))


def settle(request_id: str, response: object) -> bytes:
    return _response(subtype="success", request_id=request_id, response=response)


def refuse(request_id: str, subtype: str) -> bytes:
    return _response(subtype="error", request_id=request_id, error=f"This host does not serve {subtype} requests.")


def request(request_id: str, subtype: str, **fields: object) -> bytes:
    return _line(type="control_request", request_id=request_id, request={"subtype": subtype, **fields})


def _response(**fields: object) -> bytes:
    return _line(type="control_response", response=fields)


def _line(**fields: object) -> bytes:
    return _encoder.encode(fields) + b"\n"
