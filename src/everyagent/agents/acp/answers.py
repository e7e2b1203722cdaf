"""Encodes answers to permissions, questions and forms. Pure; used by `encode.py`."""

from collections.abc import Sequence

from everyagent.agents.acp import asks, wire
from everyagent.agents.acp.asks import AcpAsk, AcpChoiceAsk, AcpFormAsk, AcpPermissionAsk, AcpQuestionsAsk
from everyagent.agents.forms import NO, typed
from everyagent.errors import AgentFailed
from everyagent.model.asks import Answer, PermissionAnswer, QuestionAnswer

CANCELLED: dict[str, object] = {"outcome": {"outcome": "cancelled"}}


def response(ask: AcpAsk, answer: Answer) -> dict[str, object]:
    """The result of the agent's request."""
    match ask, answer:
        case AcpPermissionAsk(), PermissionAnswer():
            return permitted(ask, answer.reply)
        case AcpChoiceAsk(), QuestionAnswer():
            return _chosen(ask, answer)
        case AcpQuestionsAsk(), QuestionAnswer():
            return _answered(ask, answer)
        case AcpFormAsk(), QuestionAnswer():
            return _filled(ask, answer)
        case _:
            raise AgentFailed(
                "The answer does not fit the question, so it was not sent. Answer in the form that was asked for."
            )


def lapsed(ask: AcpAsk) -> dict[str, object]:
    """The turn was cancelled, or ended, before there was an answer."""
    return {"action": "cancel"} if isinstance(ask, AcpFormAsk) else CANCELLED


def permitted(ask: AcpPermissionAsk, reply: str) -> dict[str, object]:
    """Options are chosen by their kind: their order and number differ."""
    match reply:
        case "always" if not ask.each_time:
            preferred = [option for option in ask.options if option.option_id == ask.always]
            return _selected(preferred or _of(ask.options, "allow_always", "allow_once"))
        case "once" | "always":
            return _selected(_of(ask.options, "allow_once", "allow_always"))
        case _:
            return _selected(_of(ask.options, "reject_once", "reject_always"))


def _of(options: Sequence[wire.PermissionOption], *kinds: str) -> list[wire.PermissionOption]:
    return [option for kind in kinds for option in options if option.kind == kind]


def _selected(options: Sequence[wire.PermissionOption]) -> dict[str, object]:
    if not options:
        return CANCELLED
    return {"outcome": {"outcome": "selected", "optionId": options[0].option_id}}


def _chosen(ask: AcpChoiceAsk, answer: QuestionAnswer) -> dict[str, object]:
    """Text that is none of the options cannot be passed on, so it counts as a refusal."""
    words = [word for chosen in answer.answers or [] for word in chosen]
    named = [option for option in ask.options if option.name in words]
    return _selected(named or _of(ask.options, "reject_once", "reject_always"))


def _answered(ask: AcpQuestionsAsk, answer: QuestionAnswer) -> dict[str, object]:
    if answer.answers is None:
        return _selected(_of(ask.options, "reject_once", "reject_always"))
    answers = {str(index): ", ".join(chosen) for index, chosen in enumerate(answer.answers[: ask.questions])}
    return {**_selected(_of(ask.options, "allow_once", "allow_always")), "answers": answers}


def _filled(ask: AcpFormAsk, answer: QuestionAnswer) -> dict[str, object]:
    if answer.answers is None:
        return {"action": "decline"}
    if not ask.fields:
        return {"action": "decline" if answer.answers == [[NO]] else "accept"}
    filled = zip(ask.fields.items(), answer.answers, strict=False)
    return {"action": "accept", "content": {name: _value(field, words) for (name, field), words in filled}}


def _value(field: wire.FormProperty, words: Sequence[str]) -> object:
    """The words, converted to the field's type; unchanged if that fails, so that the agent rejects them."""
    by_label = {choice.title or str(choice.const): choice.const for choice in asks.choices_of(field)}
    if field.type == "array":
        return [by_label.get(word, word) for word in words]
    text = ", ".join(words)
    match field.type:
        case "boolean" | "integer" | "number":
            return typed(field.type, text)
        case _:
            return by_label.get(text, text)
