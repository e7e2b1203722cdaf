"""One session that an editor has open: its events as updates, its asks as requests, its prompts as messages."""

from contextlib import aclosing
from typing import assert_never

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct

from everyagent.cli.acp import asks
from everyagent.cli.acp.choices import Choices
from everyagent.cli.acp.peer import FAILED, UNKNOWN_METHOD, Peer, RpcFailure
from everyagent.cli.acp.prompts import PromptMessage
from everyagent.cli.acp.updates import JoinedChunks, Update, Updates
from everyagent.cli.acp.wire import FormOutcome, Outcome, PermissionOutcome
from everyagent.client import AnyEvent, ApiError, AsyncClient, ClientError
from everyagent.client.turn import Answer, Ask, ask_in
from everyagent.model.asks import QuestionAnswer
from everyagent.model.events import (
    ItemDelta,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    SessionEnded,
    SessionUpdated,
    ToolRequested,
    ToolResolved,
    TurnEnded,
    TurnStarted,
)
from everyagent.model.sessions import SessionInfo

#: Seconds between two looks at the queue while a prompt waits for its turn.
QUEUE_CHECK = 2.0


class Link(Struct, frozen=True):
    """The two sides: the daemon and the editor. `forms`: the editor can show forms."""

    client: AsyncClient
    peer: Peer
    tasks: TaskGroup
    forms: bool


class EditorSession:
    """Follows the session's log from `offset` on. Events come in order, so updates do, too."""

    def __init__(self, link: Link, info: SessionInfo, choices: Choices, offset: int) -> None:
        self.id = info.session_id
        self.choices = choices
        self._link = link
        self._offset = offset
        self._handled = offset
        self._updates = Updates()
        self._following: anyio.CancelScope | None = None
        #: Held while a message is sent, so that its events are read when its id is known.
        self._sending = anyio.Lock()
        self._prompts: dict[str, _Result] = {}
        self._inputs: list[str] = []
        self._open_asks: dict[str, Ask] = {}
        self._asking: dict[str, anyio.CancelScope] = {}

    async def replay(self, until: int) -> None:
        """Send the history up to an event as updates."""
        stream = self._link.client.events(self.id, follow=False)
        chunks = JoinedChunks()
        async with aclosing(stream):
            async for event in stream:
                if event.sequence > until:
                    break
                self._note_asks(event)
                for made in self._updates.take(event):
                    for update in chunks.add(made):
                        await self._send(update)
        for update in chunks.rest():
            await self._send(update)

    def follow(self) -> None:
        """Forward new events, and ask what waits for an answer. Continues where it stopped."""
        if self._following is None:
            self._following = anyio.CancelScope()
            for ask_id, ask in self._open_asks.items():
                self._link.tasks.start_soon(self._ask, ask_id, ask)
            self._link.tasks.start_soon(self._follow, self._following)

    def close(self) -> None:
        if self._following is not None:
            self._following.cancel()
        for scope in self._asking.values():
            scope.cancel()

    async def prompt(self, message: PromptMessage) -> TurnEnded:
        """Send a message and wait for the end of its turn."""
        async with self._sending:
            item = await self._link.client.send(self.id, message.text, attachments=message.attachments)
            result = self._prompts[item] = _Result()
            self.follow()
        while not result.begun.is_set():
            with anyio.move_on_after(QUEUE_CHECK):
                await result.begun.wait()
                break
            await self._check_queue(item, result)
        await result.given.wait()
        if isinstance(result.value, TurnEnded):
            return result.value
        raise RpcFailure(FAILED, result.value)

    async def cancel(self) -> None:
        """Stop the running turn, after the message that may just be on its way, and withdraw prompts that wait.

        The turn is stopped also if a prompt cannot be withdrawn.
        """
        async with self._sending:
            try:
                for item, result in list(self._prompts.items()):
                    if not result.begun.is_set() and await self._withdraw(item):
                        self._withdrawn(item)
            finally:
                await self._link.client.cancel(self.id)

    async def _withdraw(self, item: str) -> bool:
        """False if the message no longer waits: then its turn has begun, which can be cancelled."""
        try:
            await self._link.client.withdraw(self.id, item)
        except ApiError as error:
            if error.code != "message_not_queued":
                raise
            return False
        return True

    async def _check_queue(self, item: str, result: "_Result") -> None:
        """No event tells that another client withdrew a message.

        The turn of a message that left the queue began before `event_count` was read. If all events up to there were
        handled, and none of them began it, the message was withdrawn.
        """
        client = self._link.client
        try:
            if result.left_queue is None and all(each.item_id != item for each in await client.queue(self.id)):
                result.left_queue = (await client.session(self.id)).event_count
        except ClientError:
            return  # the stream of events meets the same problem, and gives the prompt its end
        if result.left_queue is not None and self._handled >= result.left_queue and not result.begun.is_set():
            self._withdrawn(item)

    def _withdrawn(self, item: str) -> None:
        if result := self._prompts.pop(item, None):
            result.give(TurnEnded(turn_id="", stop_reason="interrupted"))

    # -- events ---------------------------------------------------------------------------------------------------

    async def _follow(self, scope: anyio.CancelScope) -> None:
        failure = "The session was closed."
        with scope:
            try:
                stream = self._link.client.events(self.id, offset=self._offset)
                async with aclosing(stream):
                    async for event in stream:
                        async with self._sending:
                            self._offset = event.sequence
                        await self._take(event)
                        self._handled = event.sequence
                failure = "The session has ended. Start a new one."
            except ClientError as error:
                failure = str(error)
        self._following = None
        for item in list(self._prompts):
            self._prompts.pop(item).give(failure)

    async def _take(self, event: AnyEvent) -> None:
        if not (isinstance(event.data, ItemDelta) and event.data.item_id in self._prompts):  # the editor's own words
            for update in self._updates.take(event):
                await self._send(update)
        self._note_asks(event)
        match event.data:
            case TurnStarted(input_item_ids=inputs):
                self._inputs = inputs
                for item in inputs:
                    if result := self._prompts.get(item):
                        result.begun.set()
            case TurnEnded() as ended:
                for item in self._inputs:
                    if result := self._prompts.pop(item, None):
                        result.give(ended)
            case SessionUpdated() as updated:
                await self._settings(updated)
            case SessionEnded(message=message):
                for item in list(self._prompts):
                    self._prompts.pop(item).give(message or "The session has ended. Start a new one.")
            case _:
                pass

    async def _settings(self, updated: SessionUpdated) -> None:
        """A setting changed, here or by another client."""
        fields = (updated.permission_mode, updated.agent_mode, updated.model, updated.variant)
        if not any(isinstance(field, str) for field in fields):
            return
        info = await self._link.client.session(self.id)
        if isinstance(updated.permission_mode, str):
            await self._send({"sessionUpdate": "current_mode_update", "currentModeId": updated.permission_mode})
        await self._send({"sessionUpdate": "config_option_update", "configOptions": self.choices.options(info)})

    async def _send(self, update: Update) -> None:
        await self._link.peer.notify("session/update", {"sessionId": self.id, "update": update})

    # -- asks -----------------------------------------------------------------------------------------------------

    def _note_asks(self, event: AnyEvent) -> None:
        """An ask that is resolved elsewhere is withdrawn from the editor."""
        if asked := ask_in(event):
            ask_id, ask = asked
            self._open_asks[ask_id] = ask
            if self._following is not None:
                self._link.tasks.start_soon(self._ask, ask_id, ask)
        match event.data:
            case PermissionResolved(permission_id=ask_id) | QuestionResolved(question_id=ask_id):
                self._settle(ask_id)
            case ToolResolved(tool_id=ask_id):
                self._settle(ask_id)
            case _:
                pass

    def _settle(self, ask_id: str) -> None:
        self._open_asks.pop(ask_id, None)
        if scope := self._asking.get(ask_id):
            scope.cancel()

    async def _ask(self, ask_id: str, ask: Ask) -> None:
        if ask_id not in self._open_asks or ask_id in self._asking:
            return
        with anyio.CancelScope() as scope:
            self._asking[ask_id] = scope
            try:
                await self._answer(ask_id, await self._asked(ask))
            except RpcFailure as failure:
                await self._answer_elsewhere(f"The editor could not show it ({failure}).")
            except ApiError as error:
                if error.code != "ask_closed":
                    await self._answer_elsewhere(error.detail)
            except ClientError as error:
                await self._answer_elsewhere(str(error))
        del self._asking[ask_id]

    async def _asked(self, ask: Ask) -> Answer | None:
        """The editor's answer; None if the user cancelled the turn instead."""
        match ask:
            case PermissionRequested():
                return asks.permission_answer(await self._outcome(asks.permission_request(self.id, ask)))
            case QuestionRequested():
                return await (self._filled(ask) if self._link.forms else self._chosen(ask))
            case ToolRequested():
                raise RpcFailure(FAILED, "editors do not run custom tools")
            case _:
                assert_never(ask)

    async def _filled(self, ask: QuestionRequested) -> QuestionAnswer | None:
        try:
            outcome = await self._link.peer.request("elicitation/create", asks.form_request(self.id, ask), FormOutcome)
        except RpcFailure as failure:
            if failure.code != UNKNOWN_METHOD:
                raise
            return await self._chosen(ask)
        return asks.form_answer(ask, outcome)

    async def _chosen(self, ask: QuestionRequested) -> QuestionAnswer:
        """Questions one after the other, for an editor without forms."""
        answers: list[list[str]] = []
        for question in asks.questions_of(ask):
            if not question.options:
                raise RpcFailure(FAILED, f"it has no form for: {question.prompt}")
            label = asks.chosen(question, await self._outcome(asks.choice_request(self.id, ask, question)))
            if label is None:
                return QuestionAnswer(answers=None)
            answers.append([label])
        return QuestionAnswer(answers=answers)

    async def _outcome(self, params: dict[str, object]) -> Outcome:
        return (await self._link.peer.request("session/request_permission", params, PermissionOutcome)).outcome

    async def _answer(self, ask_id: str, answer: Answer | None) -> None:
        if answer is None:
            await self._link.client.cancel(self.id)
        else:
            await self._link.client.answer(self.id, ask_id, answer)

    async def _answer_elsewhere(self, reason: str) -> None:
        text = f"The agent waits for an answer. {reason} Answer with `everyagent sessions answer {self.id}`.\n"
        content = {"type": "text", "text": text}
        await self._send({"sessionUpdate": "agent_thought_chunk", "content": content})


class _Result:
    """The end of a prompt's turn, or the reason why there is none.

    `left_queue` is the number of events of the session after its message was found to wait no longer.
    """

    def __init__(self) -> None:
        self.begun = anyio.Event()
        self.left_queue: int | None = None
        self.given = anyio.Event()
        self.value: TurnEnded | str = ""

    def give(self, value: TurnEnded | str) -> None:
        self.value = value
        self.begun.set()
        self.given.set()
