"""Decodes what an ACP agent asks its user: permissions, questions, forms. Pure; `answers.py` encodes answers."""

from collections.abc import Sequence
from typing import TypeAlias

import msgspec
from msgspec import Struct

from everyagent.agents.acp import wire
from everyagent.agents.acp.wire_meta import VendorQuestion
from everyagent.agents.forms import requested, yes_or_no
from everyagent.model.asks import PermissionReply, Question, QuestionOption
from everyagent.model.events import PermissionRequested, PermissionResolved, QuestionRequested, QuestionResolved
from everyagent.model.parts import Json


class AcpPermissionAsk(Struct, frozen=True):
    """A call of `tool` to be allowed. `always` is the option for it, if the profile prefers one.

    `each_time`: a policy demands a question for each call, so `always` is not stored.
    """

    id: wire.Id
    options: list[wire.PermissionOption]
    tool: str = ""
    always: str | None = None
    each_time: bool = False


class AcpChoiceAsk(Struct, frozen=True):
    """A question in the form of a permission: the options are its answers."""

    id: wire.Id
    options: list[wire.PermissionOption]


class AcpQuestionsAsk(Struct, frozen=True):
    """Questions beside a permission; `questions` is their number."""

    id: wire.Id
    options: list[wire.PermissionOption]
    questions: int


class AcpFormAsk(Struct, frozen=True):
    """An elicitation: the fields of its form, in the order of the questions."""

    id: wire.Id
    fields: dict[str, wire.FormProperty]


AcpAsk: TypeAlias = AcpPermissionAsk | AcpChoiceAsk | AcpQuestionsAsk | AcpFormAsk


def is_choice(options: Sequence[wire.PermissionOption]) -> bool:
    """Several answers that all allow the call once, and none for good: the user is asked to choose."""
    kinds = [option.kind for option in options]
    return kinds.count("allow_once") > 1 and "allow_always" not in kinds


def permission(
    key: str, tool: str, call: wire.AcpToolCall, input: Json, item: str, ask: AcpPermissionAsk
) -> PermissionRequested:
    kinds = {option.kind for option in ask.options}
    replies: list[PermissionReply] = ["once"]
    if "allow_always" in kinds and not ask.each_time:
        replies.append("always")
    facts: dict[str, Json] = {
        "title": call.title,
        "kind": call.kind,
        "paths": list(dict.fromkeys(each.path for each in call.locations or [] if each.path)) or None,
    }
    offered: list[Json] = [
        {"option_id": option.option_id, "name": option.name, "kind": option.kind} for option in ask.options
    ]
    return PermissionRequested(
        permission_id=key,
        action=tool,
        status="requested",
        metadata={name: value for name, value in facts.items() if value is not None} or None,
        tool=tool,
        input=input,
        options=[*replies, "reject"],
        suggestions=[] if ask.each_time else offered,
        item_id=item,
    )


def choice(key: str, call: wire.AcpToolCall, options: Sequence[wire.PermissionOption], item: str) -> QuestionRequested:
    said = [each.content.text for each in call.content or [] if each.content and each.content.text]
    offered = [QuestionOption(label=option.name) for option in options if option.kind.startswith("allow")]
    return requested(key, [Question(prompt="\n".join(said) or call.title or "", options=offered)], item)


def questions(key: str, asked: Sequence[VendorQuestion], item: str) -> QuestionRequested:
    return requested(
        key,
        [
            Question(
                prompt=each.question,
                header=each.header,
                options=[QuestionOption(label=option.label, description=option.description) for option in each.options],
                multi_select=each.multi_select,
            )
            for each in asked
        ],
        item,
    )


def form(key: str, request: wire.AcpElicitation, item: str | None) -> QuestionRequested:
    fields = request.requested_schema.properties if request.requested_schema else {}
    if request.mode == "url" or not fields:
        where = f" {request.url}" if request.url else ""
        return requested(key, [Question(prompt=f"{request.message}{where}", options=yes_or_no())], item)
    lines = request.message.split("\n")
    own = lines if len(lines) == len(fields) else [request.message] * len(fields)
    return requested(key, [_field(text, *each) for text, each in zip(own, fields.items(), strict=True)], item)


def choices_of(field: wire.FormProperty) -> list[wire.FormChoice]:
    items = field.items or wire.FormItems()
    titled = [*field.one_of, *items.any_of, *items.one_of]
    return titled or [wire.FormChoice(const=value) for value in (*field.enum, *items.enum)]


def withdrawn(key: str, ask: AcpAsk, title: str) -> PermissionResolved | QuestionResolved:
    """The agent no longer waits for an answer."""
    why = f"{title} withdrew it."
    if isinstance(ask, AcpPermissionAsk):
        return PermissionResolved(permission_id=key, action="", status="denied", reply="reject", message=why)
    return QuestionResolved(question_id=key, prompt="", options=[], status="rejected", message=why)


def input_of(arguments: str) -> Json:
    try:
        return msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        return arguments


def _field(message: str, name: str, field: wire.FormProperty) -> Question:
    title = field.title or name
    prompt = message if field.description is None else f"{message}\n\n{title}: {field.description}"
    options = [
        QuestionOption(label=_label(choice), description=choice.description) for choice in choices_of(field)
    ] or (yes_or_no() if field.type == "boolean" else [])
    return Question(prompt=prompt, header=title, options=options, multi_select=field.type == "array")


def _label(choice: wire.FormChoice) -> str:
    return choice.title or str(choice.const)
