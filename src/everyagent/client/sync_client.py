"""The client for programs without an event loop.

Generated from `async_client.py` by `make generate`; do not edit.
"""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import partial, update_wrapper
from inspect import Signature
from types import TracebackType
from typing import Concatenate, Generic, ParamSpec, Self, TypeVar, overload

import httpx2

from everyagent.client import calls
from everyagent.client.call import ApiCall
from everyagent.client.errors import ApiError, AskPending, Unreachable, api_error
from everyagent.client.event_codec import AnyEvent
from everyagent.client.signatures import method_signature
from everyagent.client.tail import FeedStreamPosition, Gap, SessionStreamPosition, StreamPosition, Tail
from everyagent.client.transport import TransportSettings, finish, may_repeat, reason
from everyagent.client.turn import Answer, Ask, SpokenText, Turn, TurnSelection, TurnSummary, ask_in
from everyagent.model.sessions import Attachment, SessionInfo

P = ParamSpec("P")
T = TypeVar("T")


class _Method(Generic[P, T]):
    """Turns a function that makes an `ApiCall` into a method that sends it."""

    def __init__(self, make: Callable[P, ApiCall[T]]) -> None:
        self._make = make
        self.__doc__ = make.__doc__
        self.__name__ = make.__name__

    @property
    def __signature__(self) -> Signature:
        return method_signature(self._make, skipped=0)

    def __call__(self, client: "Client", *args: P.args, **kwargs: P.kwargs) -> T:
        return client.call(self._make(*args, **kwargs))

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: "Client", owner: type) -> Callable[P, T]: ...
    def __get__(self, client: "Client | None", owner: type) -> Self | Callable[P, T]:
        if client is None:
            return self

        def send(*args: P.args, **kwargs: P.kwargs) -> T:
            return client.call(self._make(*args, **kwargs))

        return update_wrapper(send, self._make)


class _SessionMethod(Generic[P, T]):
    """Like `_Method`, of a session, for a function whose first argument is the session's id."""

    def __init__(self, make: Callable[Concatenate[str, P], ApiCall[T]]) -> None:
        self._make = make
        self.__doc__ = make.__doc__
        self.__name__ = make.__name__

    @property
    def __signature__(self) -> Signature:
        return method_signature(self._make, skipped=1)

    def __call__(self, session: "Session", *args: P.args, **kwargs: P.kwargs) -> T:
        return session.client.call(self._make(session.id, *args, **kwargs))

    @overload
    def __get__(self, session: None, owner: type) -> Self: ...
    @overload
    def __get__(self, session: "Session", owner: type) -> Callable[P, T]: ...
    def __get__(self, session: "Session | None", owner: type) -> Self | Callable[P, T]:
        return self if session is None else partial(self, session)


class Session:
    """One session, made by `Client.use`. It holds no connection."""

    def __init__(self, client: "Client", session_id: str) -> None:
        self.client = client
        self.id = session_id

    info = _SessionMethod(calls.session)
    update = _SessionMethod(calls.update)
    delete = _SessionMethod(calls.delete)
    send = _SessionMethod(calls.send)
    queue = _SessionMethod(calls.queue)
    withdraw = _SessionMethod(calls.withdraw)
    cancel = _SessionMethod(calls.cancel)
    cancel_subagent = _SessionMethod(calls.cancel_subagent)
    terminate = _SessionMethod(calls.terminate)
    fork = _SessionMethod(calls.fork)
    worktree = _SessionMethod(calls.worktree)
    merge = _SessionMethod(calls.merge)
    drop = _SessionMethod(calls.drop)
    checkpoints = _SessionMethod(calls.checkpoints)
    rewind = _SessionMethod(calls.rewind)
    asks = _SessionMethod(calls.asks)
    answer = _SessionMethod(calls.answer)

    def events(
        self, *, offset: int = 0, types: Sequence[str] = (), include_raw: bool = False, follow: bool = True
    ) -> Generator[AnyEvent, None, None]:
        """See `Client.events`."""
        return self.client.events(self.id, offset=offset, types=types, include_raw=include_raw, follow=follow)

    def stream_text(self, message: str, *, attachments: Sequence[Attachment] = ()) -> Generator[str, None, None]:
        """See `Client.stream_text`."""
        return self.client.stream_text(self.id, message, attachments=attachments)

    def run(
        self,
        message: str,
        *,
        attachments: Sequence[Attachment] = (),
        answer: Callable[[Ask], Answer] | None = None,
    ) -> Turn:
        """See `Client.run_turn`."""
        return self.client.run_turn(self.id, message, attachments=attachments, answer=answer)


class Client:
    """Use it as `with Client() as client`. Without arguments it connects to this machine's daemon.

    `patience` is how many seconds an open stream keeps reconnecting to a daemon that does not answer.
    """

    def __init__(
        self,
        base_url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        patience: float = 300.0,
        attempts: int = 5,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._connection = TransportSettings(base_url, token, timeout, patience, attempts)
        self._http = httpx2.Client(
            base_url=self._connection.url,
            headers=self._connection.headers,
            trust_env=self._connection.trust_env,
            verify=self._connection.verify,
            transport=transport,
        )

    @property
    def url(self) -> str:
        return self._connection.url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    health = _Method(calls.health)
    cluster = _Method(calls.cluster)
    openapi = _Method(calls.openapi)
    metrics = _Method(calls.metrics)
    agents = _Method(calls.agents)
    models = _Method(calls.models)
    modes = _Method(calls.modes)
    agent_tools = _Method(calls.agent_tools)
    install = _Method(calls.install)
    installation = _Method(calls.installation)
    unknown_frames = _Method(calls.unknown_frames)

    sessions = _Method(calls.sessions)
    session = _Method(calls.session)
    create = _Method(calls.create)
    update = _Method(calls.update)
    delete = _Method(calls.delete)
    send = _Method(calls.send)
    queue = _Method(calls.queue)
    withdraw = _Method(calls.withdraw)
    cancel = _Method(calls.cancel)
    cancel_subagent = _Method(calls.cancel_subagent)
    terminate = _Method(calls.terminate)
    fork = _Method(calls.fork)
    worktree = _Method(calls.worktree)
    merge = _Method(calls.merge)
    drop = _Method(calls.drop)
    checkpoints = _Method(calls.checkpoints)
    rewind = _Method(calls.rewind)
    search = _Method(calls.search)
    usage = _Method(calls.usage)

    asks = _Method(calls.asks)
    answer = _Method(calls.answer)
    reply_permission = _Method(calls.reply_permission)
    reply_question = _Method(calls.reply_question)
    reject_question = _Method(calls.reject_question)
    reply_tool = _Method(calls.reply_tool)

    me = _Method(calls.me)
    keys = _Method(calls.keys)
    create_key = _Method(calls.create_key)
    revoke_key = _Method(calls.revoke_key)
    runners = _Method(calls.runners)
    runner_keys = _Method(calls.runner_keys)
    create_runner_key = _Method(calls.create_runner_key)
    revoke_runner_key = _Method(calls.revoke_runner_key)
    audit = _Method(calls.audit)
    verify_audit = _Method(calls.verify_audit)

    webhooks = _Method(calls.webhooks)
    webhook = _Method(calls.webhook)
    create_webhook = _Method(calls.create_webhook)
    update_webhook = _Method(calls.update_webhook)
    remove_webhook = _Method(calls.remove_webhook)
    send_test_webhook = _Method(calls.send_test_webhook)
    replay_webhook = _Method(calls.replay_webhook)
    deliveries = _Method(calls.deliveries)

    event_page = _Method(calls.event_page)
    frames = _Method(calls.frames)

    list_files = _Method(calls.list_files)
    read_file = _Method(calls.read_file)
    write_file = _Method(calls.write_file)
    delete_file = _Method(calls.delete_file)
    make_directory = _Method(calls.make_directory)
    move_file = _Method(calls.move_file)
    stat_file = _Method(calls.stat_file)
    upload = _Method(calls.upload)

    def use(self, session: SessionInfo | str) -> Session:
        """A session as an object, by its id or as `create` returned it. Nothing is asked of the daemon."""
        return Session(self, session if isinstance(session, str) else session.session_id)

    def events(
        self,
        session_id: str,
        *,
        offset: int = 0,
        types: Sequence[str] = (),
        include_raw: bool = False,
        follow: bool = True,
    ) -> Generator[AnyEvent, None, None]:
        """Yield the stored events after `offset`, then live ones until the session ends; each event exactly once.

        `follow=False` stops at the newest stored event.
        """
        if follow:
            position = SessionStreamPosition(offset, filtered=bool(types))
            stream = self._tail(calls.tail(session_id, types=types, include_raw=include_raw), position)
            with closing(stream):
                yield from stream
            return
        more = True
        while more:
            page = self.event_page(session_id, offset=offset, types=types, include_raw=include_raw)
            more = page.has_more
            for event in page.events:
                offset = event.sequence
                yield event

    def feed(self, *, types: Sequence[str] = (), last_id: str | None = None) -> Generator[AnyEvent, None, None]:
        """Yield the events of all sessions, from now on or after `last_id`. Never ends."""
        stream = self._tail(calls.feed(types=types), FeedStreamPosition(last_id))
        with closing(stream):
            yield from stream

    def stream_turn(
        self,
        session_id: str,
        message: str,
        *,
        attachments: Sequence[Attachment] = (),
        include_raw: bool = False,
    ) -> Generator[AnyEvent, None, None]:
        """Send a message and follow the turn that it starts, from `turn.started` to `turn.ended`."""
        offset = self.session(session_id).event_count
        selection = TurnSelection(self.send(session_id, message, attachments=attachments))
        stream = self.events(session_id, offset=offset, include_raw=include_raw)
        with closing(stream):
            for event in stream:
                if selection.take(event):
                    yield event
                if selection.done:
                    return

    def stream_text(
        self, session_id: str, message: str, *, attachments: Sequence[Attachment] = ()
    ) -> Generator[str, None, None]:
        """Send a message and yield the agent's text as it comes: not the user's own words, and no sub-agent's."""
        spoken = SpokenText()
        stream = self.stream_turn(session_id, message, attachments=attachments)
        with closing(stream):
            for event in stream:
                if text := spoken.text(event):
                    yield text

    def run_turn(
        self,
        session_id: str,
        message: str,
        *,
        attachments: Sequence[Attachment] = (),
        answer: Callable[[Ask], Answer] | None = None,
    ) -> Turn:
        """Send a message and wait for its turn to end. `answer` is called for each ask of the agent."""
        summary = TurnSummary(session_id)
        stream = self.stream_turn(session_id, message, attachments=attachments)
        with closing(stream):
            for event in stream:
                summary.add(event)
                if asked := ask_in(event):
                    ask_id, ask = asked
                    if answer is None:
                        if any(pending.ask_id == ask_id for pending in self.asks(session_id)):
                            raise AskPending(session_id, ask_id, ask)
                        continue
                    try:
                        self.answer(session_id, ask_id, answer(ask))
                    except ApiError as error:
                        if error.code != "ask_closed":
                            raise
        return summary.turn()

    def export(self, session_id: str, *, format: calls.ExportFormat = "markdown") -> Generator[bytes, None, None]:
        """Yield a whole session as a document, in chunks."""
        call = calls.export(session_id, format=format)
        try:
            with self._http.stream("GET", call.path, params=call.params) as response:
                if not response.is_success:
                    raise api_error(response.status_code, response.read())
                yield from response.iter_bytes()
        except httpx2.TransportError as error:
            raise Unreachable(self.url, reason(error)) from error

    def call(self, call: ApiCall[T]) -> T:
        """Send a call. If the connection breaks and the call is safe to repeat, send it again."""
        backoff = self._connection.backoff()
        while True:
            try:
                response = self._http.request(
                    call.method,
                    call.path,
                    params=call.params,
                    content=call.body,
                    headers=call.headers(),
                    timeout=self._connection.timeout(call),
                )
            except httpx2.TransportError as error:
                seconds = backoff.failed() if may_repeat(call, error) else None
                if seconds is None:
                    raise Unreachable(self.url, reason(error)) from error
                time.sleep(seconds)
            else:
                return finish(call, response)

    def _tail(self, call: ApiCall[None], position: StreamPosition) -> Generator[AnyEvent, None, None]:
        tail = Tail(call, position, self._connection.backoff(), self.url)
        while not tail.done:
            params, headers = tail.begin()
            try:
                with self._http.stream(
                    "GET", call.path, params=params, headers=headers, timeout=self._connection.silence()
                ) as response:
                    if response.status_code != 200:
                        seconds = tail.refused(response.status_code, response.read())
                    else:
                        for chunk in response.iter_bytes():
                            yield from tail.received(chunk)
                            if tail.done:
                                return
                        seconds = tail.lost("the stream ended")
            except httpx2.TransportError as error:
                seconds = tail.lost(reason(error))
            except Gap:
                seconds = tail.skipped()
            if not tail.done:
                time.sleep(seconds)
