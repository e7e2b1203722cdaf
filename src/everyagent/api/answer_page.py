"""The page on which a person answers an ask. Everything of the agent's is text in it: escaped, and bounded. Pure."""

import base64
import hashlib
from html import escape
from typing import Final

import msgspec

from everyagent.api.response import Response
from everyagent.model.asks import Answer, PermissionAnswer, PermissionReply, Question, QuestionAnswer, QuestionOption
from everyagent.model.events import PermissionRequested, QuestionRequested
from everyagent.model.sessions import AskInfo

#: Longer inputs of tools are cut. The inspector has all of them.
_MOST_TEXT: Final = 20_000
_MOST_ANSWER: Final = 4_000
_LABELS: Final[dict[PermissionReply, str]] = {"once": "Allow once", "always": "Always allow", "reject": "Reject"}
_STYLE: Final = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif;
  --muted: color-mix(in srgb, CanvasText 65%, Canvas) }
body { max-width: 42rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.25rem; margin: 0 } .about { color: var(--muted); margin: 0 0 1.5rem }
form + form { margin-top: 2rem }
pre { overflow: auto; max-height: 24rem; padding: .75rem; border: 1px solid var(--muted); border-radius: .5rem;
  white-space: pre-wrap; overflow-wrap: anywhere }
fieldset { border: 1px solid var(--muted); border-radius: .5rem; margin: 0 0 1rem; padding: .75rem 1rem }
legend { font-weight: 600 } label { display: block; margin: .25rem 0 } small { color: var(--muted) }
input[type=text] { font: inherit; width: 100%; box-sizing: border-box; padding: .4rem }
button { font: inherit; font-weight: 600; padding: .5rem 1.25rem; margin: 1rem .5rem 0 0; border-radius: .5rem;
  border: 1px solid var(--muted); cursor: pointer }
"""
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS: Final = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "cache-control": "no-store",
    # Forms send their Origin only if the policy allows it, and nothing on the page leads elsewhere.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-robots-tag": "noindex",
}
_permissions = msgspec.json.Decoder(PermissionRequested)
_questions = msgspec.json.Decoder(QuestionRequested)


def note(title: str, text: str, status: int = 200) -> Response:
    """A page with a message and no form."""
    return _page(title, f"<h1>{escape(title)}</h1><p>{escape(text)}</p>", status)


def form(ask: AskInfo, about: str) -> Response:
    """The ask with its buttons. `about` names the session."""
    request = msgspec.json.encode(ask.request)
    if ask.kind == "permission":
        title, body = _permission_form(_permissions.decode(request))
    else:
        title, body = "The agent has a question", _question_form(questions_of(ask))
    return _page(title, f'<h1>{escape(title)}</h1><p class="about">{escape(about)}</p>{body}')


def questions_of(ask: AskInfo) -> list[Question]:
    asked = _questions.decode(msgspec.json.encode(ask.request))
    options = [QuestionOption(label=label) for label in asked.options]
    return asked.questions or [Question(prompt=asked.prompt, options=options)]


def answer_of(ask: AskInfo, given: dict[str, list[str]]) -> Answer | None:
    """The answer in a form that was sent; None if it has none."""
    message = given.get("message", [""])[0][:_MOST_ANSWER].strip() or None
    reply = given.get("reply", [""])[0]
    if ask.kind == "permission":
        asked = _permissions.decode(msgspec.json.encode(ask.request))
        for each in asked.options or [*_LABELS]:
            if reply == each:
                return PermissionAnswer(reply=each, message=message if each == "reject" else None)
        return None
    if reply == "reject":
        return QuestionAnswer(answers=None, message=message)
    answers: list[list[str]] = []
    for number, question in enumerate(questions_of(ask)):
        labels = {option.label for option in question.options}
        chosen = [text for text in given.get(f"choice{number}", []) if text in labels]
        text = given.get(f"text{number}", [""])[0][:_MOST_ANSWER].strip()
        answers.append(chosen if question.multi_select else chosen[:1])
        if text:
            answers[-1] = [*answers[-1], text] if question.multi_select else [text]
    return QuestionAnswer(answers=answers) if reply == "answer" and any(answers) else None


def answered(answer: Answer) -> Response:
    match answer:
        case PermissionAnswer(reply="reject") | QuestionAnswer(answers=None):
            text = "You have rejected it. The agent goes on with that."
        case PermissionAnswer():
            text = "You have allowed it. The agent goes on."
        case _:
            text = "The agent has your answer and goes on."
    return note("Thank you", text)


def _permission_form(asked: PermissionRequested) -> tuple[str, str]:
    text = msgspec.json.format(msgspec.json.encode(asked.input), indent=2).decode() if asked.input is not None else ""
    if len(text) > _MOST_TEXT:
        text = text[:_MOST_TEXT] + "\n… The rest is in the inspector."
    shown = f"<pre>{escape(text)}</pre>" if text else ""
    buttons = {each: _button(each, _LABELS[each]) for each in asked.options or [*_LABELS]}
    reject = buttons.pop("reject", "")
    # A form of its own: the key Enter in its text presses the first button of the form.
    reason = '<label>Reason, if you reject it <input type="text" name="message" autocomplete="off"></label>'
    forms = (f"{shown}{''.join(buttons.values())}", f"{reason}{reject}" if reject else "")
    return f"The agent asks to use {asked.tool or asked.action}", "".join(map(_form, filter(None, forms)))


def _question_form(questions: list[Question]) -> str:
    fields = "".join(_question_field(number, question) for number, question in enumerate(questions))
    return _form(fields + _button("answer", "Answer") + _button("reject", "Reject"))


def _form(body: str) -> str:
    return f'<form method="post">{body}</form>'


def _button(value: str, label: str) -> str:
    return f'<button name="reply" value="{value}">{label}</button>'


def _question_field(number: int, question: Question) -> str:
    kind = "checkbox" if question.multi_select else "radio"
    options = "".join(
        f'<label><input type="{kind}" name="choice{number}" value="{escape(option.label)}"> {escape(option.label)}'
        f"{f' <small>{escape(option.description)}</small>' if option.description else ''}</label>"
        for option in question.options
    )
    label = "Something else" if question.options else "Your answer"
    own = f'<label>{label} <input type="text" name="text{number}" autocomplete="off"></label>'
    return f"<fieldset><legend>{escape(question.prompt[:_MOST_TEXT])}</legend>{options}{own}</fieldset>"


def _page(title: str, body: str, status: int = 200) -> Response:
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} · everyagent</title><style>{_STYLE}</style><body>{body}</body></html>"
    )
    return Response(page.encode("utf-8", "replace"), status_code=status, headers=_HEADERS)
