"""The facade of all sessions: one method for each request of an API. Every API calls this."""

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from everyagent.errors import BadRequest
from everyagent.log.chunk import EventChunk
from everyagent.log.log import (
    EventQuery,
    JoinedPage,
    Log,
    Receipt,
    SessionQuery,
    SessionRecord,
)
from everyagent.model.asks import Answer, ToolAnswer
from everyagent.model.checkpoints import RewindSession, RewoundSession
from everyagent.model.ids import new_id
from everyagent.model.parts import Json
from everyagent.model.principals import current
from everyagent.model.responses import Cancelled, StorageState
from everyagent.model.sessions import (
    AskInfo,
    CreateSession,
    ForkSession,
    FrameInfo,
    QueuedMessage,
    SearchHit,
    SendMessage,
    SessionInfo,
    UpdateSession,
)
from everyagent.model.tools import CustomTool
from everyagent.model.usage import UsageReport
from everyagent.runtime import command
from everyagent.sessions.checkpoints import Checkpoints
from everyagent.sessions.creation import Creation, InfoReceipt, with_info
from everyagent.sessions.history.events_request import EventsRequest
from everyagent.sessions.history.export import Export, ExportFormat, open_export
from everyagent.sessions.history.info import ask_info_of, info_of
from everyagent.sessions.history.tails import Tails, feed_position, type_numbers
from everyagent.sessions.launch.agents import Agents
from everyagent.sessions.launch.attachments import checked
from everyagent.sessions.launch.config import config_of
from everyagent.sessions.launch.known_costs import require_known_costs
from everyagent.sessions.launch.launcher import Launcher
from everyagent.sessions.machine.inputs import Batch, answer_batch, cancel_batch, message_batch, withdrawal_batch
from everyagent.sessions.machine.messages import masked_input, queued
from everyagent.sessions.machine.session_update import update_batch
from everyagent.sessions.projected import ProjectedSessions
from everyagent.sessions.refusals import (
    closed_ask,
    not_queued,
    offset_outside,
    owned_elsewhere,
    require_writable,
    session_ended,
)
from everyagent.sessions.services import Services
from everyagent.sessions.supervisor import Supervisor
from everyagent.sessions.tool_calls import call_tool
from everyagent.sessions.usage_report import UsageRequest, usage_report
from everyagent.sessions.worktrees import Worktrees


class Sessions:
    def __init__(
        self,
        *,
        log: Log,
        agents: Agents,
        supervisor: Supervisor,
        creation: Creation,
        launcher: Launcher,
        services: Services,
        worktrees: Worktrees,
        checkpoints: Checkpoints,
    ) -> None:
        self.agents = agents
        self.services = services
        self.worktrees = worktrees
        self.checkpoints = checkpoints
        self._launcher = launcher
        self._log = log
        self._supervisor = supervisor
        self._creation = creation
        self._tails = Tails(log)
        self.projected = ProjectedSessions(log, supervisor, creation, services.clock)

    def live(self) -> int:
        """The number of sessions with a running agent that the principal sees."""
        principal = current()
        return sum(actor.live for actor in self._supervisor.actors() if principal.sees(actor.record.workspace))

    def held(self, session_id: str) -> bool:
        """Whether the session is in this daemon's memory."""
        return self._supervisor.live(session_id)

    @property
    def storage(self) -> StorageState:
        """`damaged` is the number of damaged records that were found since the start."""
        log = self._log
        condition = "lost" if log.lost else "full" if log.full else "damaged" if log.damaged else "ok"
        return StorageState(condition=condition, damaged=log.damaged)

    async def database_bytes(self) -> int:
        return await self._log.size()

    @property
    def ready(self) -> bool:
        """Whether commands are accepted."""
        return not self._supervisor.closing and (self.services.node is None or self.services.node.ready)

    async def close(self) -> None:
        """End every agent, every turn and every installation. After that, sessions are read-only."""
        command.end_all()
        await self._supervisor.close()
        self.services.runners.close()

    # -- sessions -------------------------------------------------------------------------------------------

    async def create(
        self, session_id: str | None, request: CreateSession, receipt: InfoReceipt | None = None
    ) -> SessionInfo:
        require_writable(self._log)
        return await self._creation.create(session_id, request, with_info(receipt))

    async def fork(self, session_id: str, request: ForkSession, receipt: InfoReceipt | None = None) -> SessionInfo:
        require_writable(self._log)
        return await self._creation.fork(session_id, request, with_info(receipt))

    async def get(self, session_id: str) -> SessionInfo:
        return info_of(await self._log.session(session_id))

    async def list(self, query: SessionQuery, page: str | None = None) -> tuple[list[SessionInfo], str | None]:
        """A page of sessions, and the name of the next one."""
        if page is not None and not page.isdecimal():
            raise BadRequest(f"{page!r} is no page. Use the `nextPage` of the page before, as it came.")
        records = await self._log.sessions(replace(query, before=int(page) if page else None))
        limit = query.limit
        more = str(records[limit - 1].number) if len(records) > limit else None
        return [info_of(record) for record in records[:limit]], more

    async def update(self, session_id: str, request: UpdateSession) -> SessionInfo:
        require_writable(self._log)
        await self._writable(session_id)
        async with self._supervisor.hold(session_id) as actor:
            catalog = await actor.adapter.catalog()
            if request.budget_usd:
                require_known_costs(actor.adapter, catalog, actor.record.model, self.services.prices, "budgetUsd")
            await actor.submit(lambda _, record: update_batch(record, request, actor.adapter, catalog))
        return await self.get(session_id)

    async def terminate(self, session_id: str) -> None:
        record = await self._log.session(session_id)
        if record.status != "ended":
            async with self._supervisor.hold(session_id) as actor:
                await actor.terminate()
                await self._supervisor.ended(actor)
        await self._launcher.scratch.remove(record.number)
        self.services.runners.forget(record)

    async def delete(self, session_id: str) -> str | None:
        """End it, then delete it with all its events. Returns where its worktree's work is, if it was not merged."""
        await self.terminate(session_id)
        record = await self._log.session(session_id)
        left = await self.worktrees.release(record)
        await self.checkpoints.remove(record)
        await self._supervisor.forget(session_id)
        await self._log.delete(session_id)
        return left

    async def rewind(self, session_id: str, request: RewindSession) -> RewoundSession:
        require_writable(self._log)
        return await self.checkpoints.rewind(session_id, request, self._supervisor.hold)

    async def delete_unused(self, session_id: str) -> bool:
        """Delete it unless something happens in it: a turn, an ask, a waiting message, or an agent that runs."""
        if (await self._log.session(session_id)).status != "ended":
            async with self._supervisor.hold(session_id) as actor:
                await actor.terminate(if_unused=True)
                if actor.record.status != "ended":
                    return False
        await self.delete(session_id)
        return True

    # -- messages, turns and asks ---------------------------------------------------------------------------

    async def send(self, session_id: str, message: SendMessage, receipt: Callable[[str], Receipt] | None = None) -> str:
        require_writable(self._log)
        message = checked(message)
        if not message.message.strip() and not message.attachments:
            raise BadRequest("The message is empty. Send some text or an attachment.", field="message")
        await self._writable(session_id)
        item_id = new_id("itm_")
        batch = message_batch(item_id, message, receipt(item_id) if receipt else None)
        async with self._supervisor.hold(session_id) as actor:
            self._supervisor.require_agent(actor)
            await actor.submit(batch)
        return item_id

    async def queue(self, session_id: str) -> Sequence[QueuedMessage]:
        """The messages that wait for their turn, next first."""
        record = await self._log.session(session_id)
        masker, opened = self._launcher.masker_of(record), self._launcher.open_input
        waiting = [opened(input, session_id) for input in await self._log.inputs(record.number)]
        return [message for input in waiting for message in queued(masked_input(masker, input))]

    async def withdraw(self, session_id: str, item_id: str) -> None:
        """Take a message out of the queue. Raises `MessageNotQueued` if it does not wait."""
        require_writable(self._log)
        await self._writable(session_id)
        if not await self._running(session_id):
            raise not_queued(item_id)
        async with self._supervisor.hold(session_id) as actor:
            await actor.submit(withdrawal_batch(item_id))

    async def stream_turn(
        self, session_id: str, message: SendMessage, receipt: Callable[[str], Receipt] | None = None, *, raw: bool
    ) -> AsyncIterator[EventChunk | None]:
        """The message is durable when this returns. Streams the events of its turn."""
        record = await self._log.session(session_id)
        item_id = await self.send(session_id, replace(message, delivery="queue"), receipt)
        return self._tails.turn(record.number, record.last_sequence, item_id, raw=raw)

    async def turn(self, session_id: str, item_id: str, *, raw: bool) -> AsyncIterator[EventChunk | None]:
        """The events of the turn that a message got, or will get."""
        record = await self._log.session(session_id)
        return self._tails.turn(record.number, 0, item_id, raw=raw)

    async def cancel(self, session_id: str) -> bool:
        """Stop the running turn, or the one that is about to begin; False if there is none."""
        return (await self._cancel(session_id, cancel_batch())).cancelled

    async def cancel_all(self, session_id: str) -> Cancelled:
        """Stop the running turn, and send none of the messages that wait."""
        return await self._cancel(session_id, cancel_batch(withdraw=True))

    async def _cancel(self, session_id: str, batch: Batch) -> Cancelled:
        await self._writable(session_id)
        if not await self._running(session_id):
            return Cancelled(cancelled=False)
        async with self._supervisor.hold(session_id) as actor:
            decision = await actor.submit(batch)
        if decision is None:
            return Cancelled(cancelled=False)
        return Cancelled(cancelled=decision.stopped, withdrawn=decision.withdrawn)

    async def cancel_subagent(self, session_id: str, item_id: str) -> bool:
        await self._writable(session_id)
        if not await self._running(session_id):
            return False
        async with self._supervisor.hold(session_id) as actor:
            return await actor.cancel_subagent(item_id)

    async def asks(self, session_id: str | None, *, pending: bool) -> "list[AskInfo]":
        session = (await self._log.session(session_id)).number if session_id else None
        return [ask_info_of(ask) for ask in await self._log.asks(session, pending=pending)]

    async def ask(self, session_id: str, ask_id: str) -> AskInfo:
        session = (await self._log.session(session_id)).number
        found = await self._log.ask(session, ask_id)
        if found is None:
            raise await closed_ask(self._log, session, ask_id)
        return ask_info_of(found)

    async def answer(self, session_id: str, ask_id: str, answer: Answer) -> None:
        """The first answer counts; it is on disk before the agent gets it."""
        require_writable(self._log)
        if not await self._running(session_id):
            raise await closed_ask(self._log, (await self._log.session(session_id)).number, ask_id)
        async with self._supervisor.hold(session_id) as actor:
            await actor.submit(answer_batch(ask_id, answer))

    async def tools(self, session_id: str) -> "list[CustomTool]":
        """The tools that the daemon offers to the session's agent."""
        config = config_of(await self._log.session(session_id))
        return [*config.tools, *config.own_tools]

    def tools_token(self, session_id: str) -> str:
        return self._launcher.tools_token(session_id)

    async def call_tool(self, session_id: str, name: str, input: Json) -> ToolAnswer:
        if not self._supervisor.live(session_id):
            return ToolAnswer(output="The session is not running.", is_error=True)
        async with self._supervisor.hold(session_id) as actor:
            config = config_of(actor.record)
            if any(tool.name == name for tool in config.own_tools):
                return await self._supervisor.run_own_tool(actor, name, input)
            return await call_tool(actor.ask, config.tool_policies, name, input)

    # -- reading --------------------------------------------------------------------------------------------

    async def events(self, session_id: str, request: EventsRequest) -> JoinedPage:
        page = await self._log.joined(
            session_id,
            EventQuery(
                session=0,
                after=request.after,
                limit=request.limit,
                types=type_numbers(request.types),
                order=request.order,
                since=request.since,
                until=request.until,
                raw=request.raw,
                text=request.text,
            ),
        )
        if not 0 <= request.after <= page.head:
            raise offset_outside(request.after, page.head)
        return page

    async def frames(self, session_id: str, *, after: int, limit: int) -> "tuple[list[FrameInfo], bool]":
        record = await self._log.session(session_id)
        return await self._log.frames(record.number, after, limit)

    async def tail(
        self, session_id: str, *, after: int, types: Sequence[str], raw: bool
    ) -> AsyncIterator[EventChunk | None]:
        record = await self._at(session_id, after)
        return self._tails.session(record.number, after, type_numbers(types), raw=raw)

    async def feed(self, *, after: str | None, types: Sequence[str], raw: bool) -> AsyncIterator[EventChunk | None]:
        return self._tails.feed(feed_position(after), type_numbers(types), raw=raw)

    async def search(self, text: str, *, session_id: str | None, limit: int) -> "list[SearchHit]":
        session = (await self._log.session(session_id)).number if session_id else None
        return await self._log.search(text, session, limit)

    async def usage(self, request: UsageRequest) -> UsageReport:
        return await usage_report(self._log, request)

    async def export(self, session_id: str, format: ExportFormat) -> AsyncIterator[bytes]:
        record = await self._log.session(session_id)
        return self._exported(record, open_export(format, info_of(record)))

    async def _exported(self, record: SessionRecord, export: Export) -> AsyncIterator[bytes]:
        yield export.opening()
        query = EventQuery(session=record.number, types=type_numbers(sorted(export.types)))
        while True:
            page = await self._log.events(query)
            yield b"".join(export.event(event.body) for event in page.events)
            if not page.more:
                break
            query = replace(query, after=page.events[-1].sequence)
        yield export.closing()

    async def directory(self, session_id: str) -> Path:
        config = config_of(await self._log.session(session_id))
        if config.runner is not None:
            raise BadRequest(
                f"The files of this session are on the machine of the runner {config.runner!r}, and cannot be reached "
                "through the daemon."
            )
        return Path(config.directory)

    async def receipt(self, key: str) -> Receipt | None:
        return await self._log.receipt(key)

    async def keep_receipt(self, receipt: Receipt) -> None:
        await self._log.keep_receipt(receipt)

    # -- checks ---------------------------------------------------------------------------------------------

    async def _at(self, session_id: str, after: int) -> SessionRecord:
        record = await self._log.session(session_id)
        if not 0 <= after <= record.last_sequence:
            raise offset_outside(after, record.last_sequence)
        return record

    async def _running(self, session_id: str) -> bool:
        """Whether the session is in memory, or has parked asks. Raises `OwnedElsewhere` if another node may have it."""
        live, node = self._supervisor.live(session_id), self.services.node
        if not live and node is not None and await node.elsewhere(session_id):
            raise owned_elsewhere(session_id)
        return live or (await self._log.session(session_id)).status == "waiting"

    async def _writable(self, session_id: str) -> None:
        if (await self._log.session(session_id)).status == "ended":
            raise session_ended(session_id)
