"""Describes an ask in one line, and the commands that answer it."""

import msgspec

from everyagent.cli.output import one_line
from everyagent.model.asks import AskKind, Question
from everyagent.model.parts import Json


class _AskRequest(msgspec.Struct):
    """The fields of all kinds of ask requests."""

    action: str | None = None
    tool: str | None = None
    name: str | None = None
    input: Json = None
    prompt: str | None = None
    questions: list[Question] = []


def summary(request: Json) -> str:
    asked = msgspec.convert(request, _AskRequest)
    match asked:
        case _AskRequest(questions=[_, *_]):
            return one_line(" / ".join(question.prompt for question in asked.questions))
        case _AskRequest(prompt=str(prompt)):
            return one_line(prompt)
        case _:
            return f"{asked.tool or asked.name or asked.action}: {compact(asked.input)}"


def compact(value: Json, width: int = 100) -> str:
    """A tool's input on one line: its command or path if it has one, else the whole JSON."""
    match value:
        case None:
            return ""
        case str():
            return one_line(value, width)
        case {"command": str(command)} | {"file_path": str(command)} | {"path": str(command)}:
            return one_line(command, width)
        case dict() if len(value) == 1 and isinstance(only := next(iter(value.values())), str):
            return one_line(only, width)
        case _:
            return one_line(msgspec.json.encode(value).decode(), width)


def how_to_answer(session_id: str, ask_id: str, kind: AskKind) -> str:
    words = {
        "permission": "once|always|reject",
        "question": '"ANSWER" ["ANSWER TO THE NEXT QUESTION" ...]',
        "tool": '"OUTPUT"',
    }
    return f"everyagent sessions answer {session_id} {ask_id} {words[kind]}"


def curl_to_answer(url: str, session_id: str, ask_id: str, kind: AskKind) -> str:
    route, body = {
        "permission": ("permissions", '{"reply":"once"}'),
        "question": ("questions", '{"answers":[["ANSWER"]]}'),
        "tool": ("tools", '{"output":"OUTPUT"}'),
    }[kind]
    return (
        f'curl -X POST {url}/v1/sessions/{session_id}/{route}/{ask_id}/reply -H "Authorization: Bearer '
        f"$(everyagent token)\" -H 'Content-Type: application/json' -d '{body}'"
    )
