"""The conversation with one Claude Code process: commands go in, lines come out, death is told once."""

import asyncio
import uuid
from collections.abc import Callable
from contextlib import aclosing

import anyio
from anyio import to_thread
from msgspec import UNSET

from everyagent.agents.adapter import Change, Death, Frame, Heard, Launch, Listener, Prompt
from everyagent.agents.claude import attachments, encode, modes
from everyagent.agents.claude.decode import Decoder, Lapsed, Unserved
from everyagent.agents.claude.wire import ControlReply
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger
from everyagent.model.asks import Answer
from everyagent.runtime.process import Process

logger = get_logger(__name__)

#: How long the agent may take to acknowledge a change; a busy machine needs seconds to start it.
REPLY_LIMIT = 30.0
#: How long an agent that no longer listens may take to die.
DEATH_LIMIT = 5.0
#: How long the daemon, while it goes down itself, lets the listener take in a death.
FAREWELL_LIMIT = 10.0


class ClaudeConversation:
    """`run` is its own task: the only one that calls the listener."""

    def __init__(self, process: Process, launch: Launch, listener: Listener) -> None:
        self._process = process
        self._launch = launch
        self._listener = listener
        self._decoder = Decoder(modes.native(launch.permission_mode, launch.agent_mode))
        self._seed = launch.seed
        self._permission_mode, self._agent_mode = launch.permission_mode, launch.agent_mode
        self._replies: dict[str, asyncio.Future[ControlReply]] = {}
        self._requests = 0
        self._told: list[Heard] = []  # what we said and the listener has not heard of yet
        self._closing = False
        self._over = anyio.Event()

    async def begin(self) -> None:
        """The first frame. If it cannot be said the process is ended, and nobody is told of its death."""
        try:
            await self._say(encode.initialize(self._request_id(), self._launch.system_prompt))
        except BaseException:
            await self._process.stop(0)
            raise

    async def run(self) -> None:
        cancelled = False
        try:
            await self._listen()
        except anyio.get_cancelled_exc_class():
            cancelled = self._closing = True
            raise
        finally:
            death = await self._end()
            try:
                with anyio.move_on_after(FAREWELL_LIMIT if cancelled else None, shield=cancelled):
                    await self._listener.died(death)
            finally:
                self._over.set()

    # -- commands -----------------------------------------------------------------------------------------------

    async def prompt(self, prompt: Prompt) -> None:
        content = await self._content(prompt, self._seed)
        self._decoder.prompt = str(uuid.uuid4())
        await self._say(encode.prompt(self._decoder.prompt, content))
        self._seed = None

    async def steer(self, prompt: Prompt) -> None:
        await self._tell(encode.prompt(str(uuid.uuid4()), await self._content(prompt, None)))

    async def answer(self, ask_key: str, answer: Answer) -> None:
        ask = self._decoder.asks.pop(ask_key, None)
        if ask is None:
            raise AgentFailed("The agent no longer waits for this answer.")
        await self._tell(encode.answer(ask_key, ask, answer))

    async def interrupt(self) -> None:
        await self._tell(encode.interrupt(self._request_id()))

    async def change(self, change: Change) -> bool:
        """False for what only a start can give: no permission checks, and the model's own effort again."""
        applied = True
        if change.model is not UNSET:
            model = None if change.model == "default" else change.model
            await self._request(lambda id: encode.set_model(id, model))
        if change.permission_mode is not UNSET or change.agent_mode is not UNSET:
            applied = await self._change_mode(change)
        if change.variant is not UNSET:
            variant = change.variant
            applied = applied and variant is not None
            if variant is not None:
                await self._request(lambda id: encode.set_effort(id, variant))
        return applied

    async def close(self, *, force: bool = False) -> None:
        self._closing = True
        await (self._process.stop(0) if force else self._process.stop())
        await self._over.wait()

    # -- the control channel --------------------------------------------------------------------------------------

    async def _change_mode(self, change: Change) -> bool:
        before = self._decoder.mode
        permission, agent = modes.current(before, self._permission_mode, self._agent_mode)
        self._permission_mode = permission if change.permission_mode is UNSET else change.permission_mode
        self._agent_mode = agent if change.agent_mode is UNSET else change.agent_mode
        self._decoder.mode = mode = modes.native(self._permission_mode, self._agent_mode)
        if mode == before:
            return True
        try:
            await self._request(lambda id: encode.set_mode(id, mode))
        except _Refused as refusal:
            self._decoder.mode = before
            if refusal.reason == "bypass_not_launched":
                return False
            raise
        return True

    async def _request(self, frame: Callable[[str], bytes]) -> ControlReply:
        request_id = self._request_id()
        reply = self._replies[request_id] = asyncio.get_running_loop().create_future()
        try:
            await self._tell(frame(request_id))
            with anyio.fail_after(REPLY_LIMIT):
                answered = await reply
        except TimeoutError:
            raise AgentFailed(f"Claude Code did not acknowledge a change within {REPLY_LIMIT:.0f} seconds.") from None
        finally:
            del self._replies[request_id]
        if answered.subtype == "error":
            raise _Refused(answered)
        return answered

    def _request_id(self) -> str:
        self._requests += 1
        return f"everyagent-{self._requests}"

    async def _see_to_asides(self) -> None:
        asides, self._decoder.asides = self._decoder.asides, []
        for aside in asides:
            match aside:
                case Unserved():
                    await self._reply(encode.refuse(aside.request_id, aside.subtype))
                case Lapsed():
                    await self._reply(encode.lapse(aside.request_id, aside.ask))
                case ControlReply():
                    waiting = self._replies.get(aside.request_id)
                    if waiting and not waiting.done():
                        waiting.set_result(aside)

    async def _reply(self, frame: bytes) -> None:
        """An agent that does not hear it any more is ending, which is told anyway."""
        try:
            await self._tell(frame)
        except AgentFailed as failure:
            logger.info("claude code did not take a reply", error=failure.detail)

    # -- the process ------------------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        decode = self._decoder.decode
        async with aclosing(self._process.lines()) as batches:
            async for lines in batches:
                told, self._told = self._told, []
                heard = told + [decode(line) for line in lines if line.body]
                if heard:
                    await self._listener.heard(heard)
                if self._decoder.asides:
                    await self._see_to_asides()
        if self._told:
            await self._listener.heard(self._told)

    async def _end(self) -> Death:
        """The process may have ended by itself; what it started goes with it in any case."""
        for waiting in self._replies.values():
            if not waiting.done():
                waiting.set_exception(AgentFailed("Claude Code ended before it acknowledged a change."))
        lost = self._decoder.history_lost
        try:
            exit = await self._process.stop(0)
        except AgentFailed as failure:
            stderr = self._process.stderr
            return Death(expected=self._closing, history_lost=lost, stderr=stderr, message=failure.detail)
        words = self._process.last_words
        return Death(
            expected=self._closing,
            history_lost=lost,
            exit_code=exit.code,
            signal=exit.signal,
            stderr=self._process.stderr,
            message=f"Claude Code ended with {exit}{f': {words}' if words else '.'}",
        )

    async def _content(self, prompt: Prompt, seed: str | None) -> str | list[dict[str, object]]:
        folder = self._launch.scratch / "attachments" / prompt.item_id
        if prompt.attachments:
            return await to_thread.run_sync(attachments.content, prompt, seed, folder)
        return attachments.content(prompt, seed, folder)

    async def _say(self, frame: bytes) -> None:
        """Tell it, or see it die: then its death, and what it said on stderr, is all there is to tell."""
        try:
            await self._tell(frame)
        except AgentFailed:
            with anyio.move_on_after(DEATH_LIMIT):
                await self._process.wait()
            if self._process.exit is None:
                raise

    async def _tell(self, frame: bytes) -> None:
        await self._process.write(frame)
        self._told.append(Heard(Frame("to_agent", frame[:-1]), ()))
        self._process.nudge()


class _Refused(AgentFailed):
    """The agent's own words for why it does not change."""

    def __init__(self, reply: ControlReply) -> None:
        super().__init__(f"Claude Code refused the change: {reply.error}")
        self.reason = reply.error_code
