"""The ASGI application: checks access, finds the route, decodes the request, calls the handler, sends the response."""

import asyncio
import hashlib
import hmac
import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from everyagent.api import request_decoding, ui
from everyagent.api.access_control import AccessControl
from everyagent.api.answer_link import PATH as ANSWER_PATH
from everyagent.api.answer_link import AnswerLinkApi
from everyagent.api.asgi import ASGIApp, ClientDisconnect, Receive, Scope, Send
from everyagent.api.authorization import authorize
from everyagent.api.context import ApiSettings, Context
from everyagent.api.cors import Cors
from everyagent.api.http_api import HttpApi, UniversalApi
from everyagent.api.idempotency import Idempotency, key_of
from everyagent.api.metrics import Metrics, Sample
from everyagent.api.owner_token import OwnerToken
from everyagent.api.proxies import without_prefix
from everyagent.api.request_audit import RequestAudit
from everyagent.api.requests_in_flight import RequestsInFlight
from everyagent.api.response import Response
from everyagent.api.response_sender import ResponseSender
from everyagent.api.router import Router
from everyagent.api.routes import ROUTES, openapi_json, schema_json
from everyagent.api.routing import Call, NoContent, Nothing, Route, Spooled, Upload, encoded
from everyagent.api.sign_in import SignIn
from everyagent.api.start_limits import StartLimits
from everyagent.api.streaming import KEY_ID, Download, EventStream, OpenStreams
from everyagent.errors import LogFenced, OwnedElsewhere, Unavailable
from everyagent.model.principals import DAEMON, OWNER_ID, Principal, current, set_current
from everyagent.sessions import Sessions

if TYPE_CHECKING:
    from everyagent.api.forwarding import Forwarder
    from everyagent.api.managed.face import ManagedFace
    from everyagent.managed import Managed

#: Paths below it belong to the Managed Agents API.
PREFIX = "/anthropic/"
#: The page that shows the OpenAPI document.
DOCS_PATH = "/docs"
_NOTHING = Nothing()
_TOOLS = re.compile("/v1/sessions/([^/]+)/mcp")
#: An agent that calls the custom tools of its session. Its token is valid for that session only.
_TOOLS_PRINCIPAL = Principal(scopes=frozenset(["run"]))
#: Whether it had an effect is not known.
_CUT_SHORT = "The daemon stopped before the request was done. Send it again, with its Idempotency-Key if it had one."
_NO_BODY = hashlib.sha256().digest()


def create_app(
    sessions: Sessions,
    settings: ApiSettings,
    *,
    managed: "Callable[[], Managed] | None" = None,
    forwarder: "Forwarder | None" = None,
) -> "Application":
    """Without `managed` there is no Managed Agents API; without a `forwarder` this daemon owns all sessions."""
    return Application(sessions, settings, ROUTES, managed, forwarder)


class Application:
    def __init__(
        self,
        sessions: Sessions,
        settings: ApiSettings,
        routes: Iterable[Route],
        managed: "Callable[[], Managed] | None" = None,
        forwarder: "Forwarder | None" = None,
    ) -> None:
        routes = tuple(routes)
        self._forwarder = forwarder
        self.metrics = Metrics()
        self.readers = OpenStreams()
        self.metrics.add(self._samples)
        self._context = Context(
            sessions=sessions,
            settings=settings,
            metrics=self.metrics,
            readers=self.readers,
            managed=managed,
            openapi=openapi_json,
            schema=schema_json,
            start_limits=StartLimits(settings.starts),
            forwarder=forwarder,
        )
        self._idempotency = Idempotency(sessions)
        self._cors = Cors(settings.origins)
        self._prefix = settings.prefix
        self._proxies = settings.proxies
        self._access_log = settings.access_log
        self._universal = UniversalApi(Router(routes))
        public = frozenset(route.path for route in routes if route.public)
        open_paths = public | {DOCS_PATH}
        self._keys = keys = sessions.services.keys
        self._audit = RequestAudit(keys)
        self._sign_in = SignIn(settings.oidc, keys)
        self._answer_links = AnswerLinkApi(sessions, self._audit, forwarder)
        self._in_flight = RequestsInFlight(settings.max_requests, always=public)
        self.owner = OwnerToken(settings.token, settings.token_file)
        self.owner.replaced.append(lambda: self.readers.end(OWNER_ID))
        if keys is not None:
            keys.ended.append(self.readers.end)
        self._access = AccessControl(
            owner=self.owner,
            hosts=settings.hosts,
            origins=settings.origins,
            public=lambda path: path in open_paths or ui.is_inspector_path(path) or path.startswith(ANSWER_PATH),
            keys=keys,
            limited=self._limited_principal,
            forwarded=forwarder.principal if forwarder else None,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"Only HTTP is supported, not {scope['type']}.")
        if self._proxies is not None:
            self._proxies.apply(scope)
        if self._prefix:
            without_prefix(scope, self._prefix)
        sender = ResponseSender(scope, send, self.metrics, self._universal, self._cors, logged=self._access_log)
        try:
            if self._is_managed(scope["path"]):
                sender.api = self._managed
            with self._in_flight.counted(scope["path"]):
                answer = self._cors.preflight(scope) or await self._answer(scope, receive, sender, sender.api)
            await answer(scope, receive, sender.send)
        except ClientDisconnect:
            return
        except asyncio.CancelledError:  # the daemon stops, and has waited long enough
            await sender.fail(Unavailable(_CUT_SHORT), receive)
            raise
        except Exception as error:  # noqa: BLE001 - any fault becomes an error response, never a stack trace
            await sender.fail(error, receive)

    async def _answer(self, scope: Scope, receive: Receive, sender: ResponseSender, api: HttpApi) -> ASGIApp:
        principal = await self._access.check(scope)
        set_current(principal)
        scope[KEY_ID] = principal.key_id
        if ui.is_inspector_path(scope["path"]):
            sender.route = "/ui"
            return await self._sign_in.answer(scope) if SignIn.covers(scope["path"]) else ui.answer(scope)
        if scope["path"].startswith(ANSWER_PATH):
            sender.route = "/answer"
            return await self._answer_links.answer(scope, receive)
        if scope["path"] == DOCS_PATH:
            from everyagent.api import docs_page  # loaded when needed

            sender.route = DOCS_PATH
            return await asyncio.to_thread(docs_page.answer, scope, self._context.openapi)
        route, path = api.router.find(scope["method"], scope["path"])
        sender.route = route.path
        forwarder = self._forwarder
        if forwarder is not None and (owner := await forwarder.owner(route, path, scope)):
            authorize(principal, route.scopes, turns=route.turns, keys=self._keys)
            return await forwarder.forward(owner, route, scope, receive, principal, sender)

        async def work() -> ASGIApp:
            authorize(principal, route.scopes, turns=route.turns, keys=self._keys)
            try:
                return await self._routed(route, path, scope, receive, sender, api)
            except LogFenced as error:
                raise OwnedElsewhere(
                    "Another node has taken the session over. Nothing was changed; try again."
                ) from error

        return await self._audit.report(principal, scope["method"], route.path, path, work)

    async def _routed(
        self, route: Route, path: dict[str, str], scope: Scope, receive: Receive, sender: ResponseSender, api: HttpApi
    ) -> ASGIApp:
        query = api.query(scope["query_string"], route, sender.ignored)
        if route.body is Spooled:
            file, digest = await request_decoding.spool(scope, receive, self._context.settings.max_upload)
            with file:
                return await self._handle(route, scope, receive, path, query, Spooled(file), digest, sender.warnings)
        body, digest = await self._body(route, scope, receive, sender, api)
        return await self._handle(route, scope, receive, path, query, body, digest, sender.warnings)

    async def _body(
        self, route: Route, scope: Scope, receive: Receive, sender: ResponseSender, api: HttpApi
    ) -> tuple[object, bytes]:
        if route.body is Upload:
            return Upload(request_decoding.pieces(scope, receive, self._context.settings.max_upload)), _NO_BODY
        if route.decoder is None:
            return _NOTHING, _NO_BODY
        raw = await request_decoding.whole(scope, receive, self._context.settings.max_body)
        if raw:
            request_decoding.require_json(scope)
        digest = hashlib.sha256(raw).digest()
        if self._forwarder is not None:
            self._forwarder.check_body(scope, digest)
        return api.body(raw, route, sender.ignored), digest

    async def _handle(
        self,
        route: Route,
        scope: Scope,
        receive: Receive,
        path: dict[str, str],
        query: Struct,
        body: object,
        digest: bytes,
        warnings: list[str],
    ) -> ASGIApp:
        key = key_of(scope, digest, current()) if route.effect else None
        call = Call[object, object](self._context, scope, receive, path, query, body, key, warnings)
        if key is None:
            return await _run(route, call)
        return await self._idempotency.once(key, lambda: _run(route, call))

    @cached_property
    def _managed(self) -> "ManagedFace":
        """Loaded at the first request, because most daemons do not use it."""
        from everyagent.api.managed.face import ManagedFace

        assert self._context.managed
        return ManagedFace(self._context.managed())

    def _is_managed(self, path: str) -> bool:
        return path.startswith(PREFIX) and self._context.managed is not None

    async def _limited_principal(self, token: str, scope: Scope) -> Principal | None:
        """The principal of a token of limited use: that of a session's tools, or of a managed worker."""
        set_current(DAEMON)
        path: str = scope["path"]
        if tools := _TOOLS.fullmatch(path):
            right = hmac.compare_digest(token.encode(), self._context.sessions.tools_token(tools[1]).encode())
            return _TOOLS_PRINCIPAL if right else None
        if not self._is_managed(path):
            return None
        return await self._managed.managed.keys.principal(token, scope["method"], path)

    def _samples(self) -> Iterable[Sample]:
        """The values that the principal of the request sees."""
        sessions, principal = self._context.sessions, current()
        counts = sessions.agents.counts
        readers = len(self.readers) if principal.workspace is None else self.readers.count(principal.key_id)
        yield Sample("everyagent_sse_readers", "gauge", "Open event streams.", readers)
        yield Sample("everyagent_live_sessions", "gauge", "Sessions whose agent is running.", sessions.live())
        if principal.workspace is None:
            damaged = "Damaged events and frames found since the start."
            yield Sample("everyagent_log_damaged_records", "gauge", damaged, sessions.storage.damaged)
        if self._forwarder is not None and principal.workspace is None:
            yield from self._forwarder.samples()
        for agent, events in counts.events.items():
            yield Sample("everyagent_events", "counter", "Events written.", events, {"agent": agent})
        for (agent, reason), turns in counts.turns.items():
            labels = {"agent": agent, "stop_reason": reason}
            yield Sample("everyagent_turns", "counter", "Turns ended.", turns, labels)
        for (agent, kind), tokens in counts.tokens.items():
            yield Sample(
                "everyagent_tokens", "counter", "Tokens of ended turns.", tokens, {"agent": agent, "kind": kind}
            )
        for agent, cost in counts.costs.items():
            yield Sample("everyagent_cost_usd", "counter", "Cost of ended turns, in dollars.", cost, {"agent": agent})
        for agent, deaths in counts.deaths.items():
            yield Sample("everyagent_agent_deaths", "counter", "Agent processes that ended.", deaths, {"agent": agent})
        for agent, frames in counts.unknown_frames.items():
            yield Sample(
                "everyagent_unknown_frames", "counter", "Frames that could not be decoded.", frames, {"agent": agent}
            )


async def _run(route: Route, call: Call[object, object]) -> ASGIApp:
    answer = await route.handler(call)
    match answer:
        case None:
            return NoContent()
        case Response() | EventStream() | Download():
            return answer
        case _:
            return encoded(answer)
