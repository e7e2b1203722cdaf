"""Prompts at the terminal for the answer to an agent's ask."""

from typing import assert_never

from rich.text import Text

from everyagent.cli.ask_text import compact
from everyagent.cli.output import err
from everyagent.cli.permission_text import always_allows, request_text
from everyagent.cli.terminal import TerminalLines
from everyagent.client.turn import Answer, Ask
from everyagent.model.asks import PermissionAnswer, Question, QuestionAnswer, ToolAnswer
from everyagent.model.events import PermissionRequested, QuestionRequested, ToolRequested


async def answer(ask: Ask, lines: TerminalLines) -> Answer:
    match ask:
        case PermissionRequested():
            return await _permission(ask, lines)
        case QuestionRequested():
            return await _questions(ask, lines)
        case ToolRequested():
            _print(f"The custom tool {ask.name} was called with {compact(ask.input)}. What does it return?")
            return ToolAnswer(output=await line("> ", lines) or "")
        case _:
            assert_never(ask)


async def _permission(ask: PermissionRequested, lines: TerminalLines) -> PermissionAnswer:
    """Ctrl-D rejects."""
    err().print(request_text(ask))
    always = ""
    if not ask.options or "always" in ask.options:
        always = "  [a] always"
        err().print(Text(f"  always allows: {always_allows(ask)}", style="dim"))
    while True:
        match (await line(f"  [y] once{always}  [n] no > ", lines) or "n").lower():
            case "y" | "yes" | "once":
                return PermissionAnswer(reply="once")
            case "a" | "always" if always:
                return PermissionAnswer(reply="always")
            case "n" | "no" | "reject":
                return PermissionAnswer(reply="reject", message=await line("  why? > ", lines) or None)
            case _:
                continue


async def _questions(ask: QuestionRequested, lines: TerminalLines) -> QuestionAnswer:
    """Ctrl-D or an empty line rejects them all."""
    questions = ask.questions or [Question(prompt=ask.prompt)]
    answers: list[list[str]] = []
    for question in questions:
        _print(f"{question.header}: {question.prompt}" if question.header else question.prompt)
        for number, option in enumerate(question.options, 1):
            err().print(f"  {number}  {option.label}" + (f"  – {option.description}" if option.description else ""))
        several = "several numbers" if question.multi_select else "a number"
        typed = await line(f"  {several}, or your own answer > " if question.options else "  > ", lines)
        if not typed:
            return QuestionAnswer(answers=None)
        answers.append(chosen(question, typed))
    return QuestionAnswer(answers=answers)


def chosen(question: Question, typed: str) -> list[str]:
    """The labels of the typed option numbers; anything else is the answer itself."""
    words = typed.replace(",", " ").split()
    if not all(word.isdecimal() and 1 <= int(word) <= len(question.options) for word in words):
        return [typed]
    if len(words) > 1 and not question.multi_select:
        return [typed]
    return [question.options[int(word) - 1].label for word in words]


def _print(text: str) -> None:
    err().print(Text(text, style="yellow"))


async def line(prompt: str, lines: TerminalLines) -> str | None:
    """The line that was typed, or None at Ctrl-D."""
    err().print(prompt, end="")
    return await lines.read()
