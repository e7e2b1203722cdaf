"""Questions of agents, and forms of MCP servers as questions. Pure; used by the adapters' `asks.py`."""

from collections.abc import Sequence

from everyagent.model.asks import Question, QuestionOption
from everyagent.model.events import QuestionRequested

YES, NO = "yes", "no"


def requested(key: str, questions: list[Question], item: str | None) -> QuestionRequested:
    first = questions[0] if questions else Question(prompt="")
    return QuestionRequested(
        question_id=key,
        prompt=first.prompt,
        options=[option.label for option in first.options],
        status="requested",
        questions=questions,
        item_id=item or None,
    )


def yes_or_no() -> list[QuestionOption]:
    return [QuestionOption(label=YES), QuestionOption(label=NO)]


def field_question(
    message: str,
    title: str,
    *,
    description: str | None,
    type: str | None,
    values: Sequence[object] | None,
    names: Sequence[str] | None,
    header: str,
) -> Question:
    """One field of a form. `values` are those of its enum, and `names` their descriptions."""
    options = [
        QuestionOption(label=str(value), description=names[index] if names and index < len(names) else None)
        for index, value in enumerate(values or ())
    ] or (yes_or_no() if type == "boolean" else [])
    prompt = f"{message}\n\n{title}" + (f": {description}" if description else "")
    return Question(prompt=prompt, header=header, options=options)


def typed(type: str | None, text: str) -> object:
    """The text, converted to the type in the form's schema; unchanged if that fails, so that the server rejects it."""
    match type:
        case "boolean":
            return text.strip().lower() in (YES, "true", "1", "on")
        case "integer" | "number":
            try:
                return int(text) if type == "integer" else float(text)
            except ValueError:
                return text
        case _:
            return text
