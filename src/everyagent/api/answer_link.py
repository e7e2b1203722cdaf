"""Serves the links for answers that webhooks carry: a GET shows the ask, only a POST answers it."""

from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, quote

import msgspec

from everyagent.api.asgi import Receive, Scope
from everyagent.api.request_audit import RequestAudit
from everyagent.api.request_decoding import whole
from everyagent.api.response import Response
from everyagent.errors import AskClosed, EveryagentError, MethodNotAllowed, NotFound, Unavailable
from everyagent.model.asks import Answer, PermissionAnswer, QuestionAnswer
from everyagent.model.principals import DAEMON, EventActor, Principal, set_current
from everyagent.model.sessions import AskInfo
from everyagent.sessions import Sessions

if TYPE_CHECKING:
    from everyagent.api.forwarding import Forwarder
    from everyagent.webhooks.answer_links import AnswerLink

PATH: Final = "/answer/"
_MOST_BYTES: Final = 64 << 10
_METHODS: Final = ("GET", "HEAD", "POST")


class AnswerLinkApi:
    def __init__(self, sessions: Sessions, audit: RequestAudit, forwarder: "Forwarder | None") -> None:
        self._sessions = sessions
        self._audit = audit
        self._forwarder = forwarder

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        from everyagent.api import answer_page  # loaded when needed: most daemons have no webhooks

        if scope["method"] not in _METHODS:
            raise MethodNotAllowed("A link for an answer supports GET and POST.", allow=list(_METHODS))
        found = await self._opened(scope["path"].removeprefix(PATH))
        if found is None:
            return answer_page.note(
                "This link does not work", "It is not complete, has expired, or its webhook was removed.", 404
            )
        link, principal = found
        set_current(principal)
        try:
            ask = await self._sessions.ask(link.session_id, link.ask_id)
            if not ask.pending:
                raise AskClosed("This ask was answered before.")
            if scope["method"] != "POST":
                session = await self._sessions.get(link.session_id)
                return answer_page.form(ask, f"{session.title or session.session_id} · {session.agent}")
            body = (await whole(scope, receive, _MOST_BYTES)).decode("utf-8", "replace")
            answer = answer_page.answer_of(ask, parse_qs(body, keep_blank_values=True, max_num_fields=1000))
            if answer is None:
                return answer_page.note("Nothing was sent", "Go back, and choose or write an answer.", 400)
            path = {"session_id": link.session_id, "ask_id": link.ask_id}
            work = partial(self._answer, scope, ask, answer, principal)
            await self._audit.report(principal, "POST", PATH + "{token}", path, work)
        except AskClosed:
            return answer_page.note("Already answered", "The first answer stands. This link is used up.", 409)
        except NotFound:
            return answer_page.note("This link does not work", "Its session was deleted.", 404)
        except EveryagentError as error:
            return answer_page.note("The answer was not taken", error.detail, error.status)
        return answer_page.answered(answer)

    async def _opened(self, token: str) -> "tuple[AnswerLink, Principal] | None":
        """The link and its endpoint as a principal. None if the link does not count, or not any more."""
        webhooks = self._sessions.services.webhooks
        link = None if webhooks is None else webhooks.loaded.links.opened(token)
        if webhooks is None or link is None or webhooks.loaded.links.expired(link):
            return None
        set_current(DAEMON)
        try:
            endpoint = await webhooks.loaded.find(link.webhook_id)
        except NotFound:
            return None
        if not endpoint.body.answer_links:
            return None
        name = f"link of {endpoint.body.name or endpoint.id}"
        return link, Principal(
            actor=EventActor(key_id=endpoint.id, name=name),
            workspace=endpoint.workspace,
            creates_in=endpoint.workspace,
            scopes=frozenset(["answer"]),
        )

    async def _answer(self, scope: Scope, ask: AskInfo, answer: Answer, principal: Principal) -> None:
        forwarder = self._forwarder
        owner = None if forwarder is None else await forwarder.elsewhere(ask.session_id, scope)
        if forwarder is None or owner is None:
            await self._sessions.answer(ask.session_id, ask.ask_id, answer)
            return
        path, body = _request(ask, answer)
        response = await forwarder.post(owner, path, msgspec.json.encode(body), principal)
        if response.status_code == AskClosed.status:
            raise AskClosed("This ask was answered before.")
        if not response.is_success:
            raise Unavailable("The node that owns the session did not take the answer. Try again.")


def _request(ask: AskInfo, answer: Answer) -> tuple[str, dict[str, object]]:
    """The path and the body of the route that takes the answer."""
    session, asked = quote(ask.session_id, safe=""), quote(ask.ask_id, safe="")
    match answer:
        case PermissionAnswer():
            return f"/v1/sessions/{session}/permissions/{asked}/reply", {
                "reply": answer.reply,
                "message": answer.message,
            }
        case QuestionAnswer(answers=None):
            return f"/v1/sessions/{session}/questions/{asked}/reject", {"message": answer.message}
        case _:
            answers = answer.answers if isinstance(answer, QuestionAnswer) else []
            return f"/v1/sessions/{session}/questions/{asked}/reply", {"answers": answers}
