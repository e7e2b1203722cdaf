"""Drives one Claude Code process: prompts, answers and the control channel."""

import asyncio
import uuid
from collections.abc import Callable

import anyio
from anyio import to_thread
from msgspec import UNSET

from everyagent.agents import attached_files
from everyagent.agents.adapter import Change, Launch, Listener, Prompt
from everyagent.agents.claude import attachments, encode, modes, policies
from everyagent.agents.claude.decode import ClaudeDecoder, LapsedAsk, SettledRequest, UnservedControlRequest
from everyagent.agents.claude.wire_control import ControlReply
from everyagent.agents.line_conversation import LineConversation, LineProtocol, ProcessEnd
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger
from everyagent.model.asks import Answer
from everyagent.model.policies import ToolPolicies
from everyagent.runtime.exit import Exit
from everyagent.runtime.process import Process

logger = get_logger(__name__)

#: How long the agent may take to acknowledge a change; a busy machine needs seconds to start it.
REPLY_LIMIT = 30.0


class ClaudeConversation:
    """A running session of Claude Code. `run` needs a task."""

    def __init__(self, process: Process, launch: Launch, listener: Listener) -> None:
        self._launch = launch
        self._decoder = ClaudeDecoder(modes.native(launch.permission_mode, launch.agent_mode), launch.policies)
        self._seed = launch.seed
        self._permission_mode, self._agent_mode = launch.permission_mode, launch.agent_mode
        self._replies: dict[str, asyncio.Future[ControlReply]] = {}
        self._requests = 0
        protocol = LineProtocol("Claude Code", self._decoder.decode, self._ended, self._carry_out_effects)
        self._lines = LineConversation(process, listener, protocol)
        self.run = self._lines.run

    async def begin(self) -> None:
        """Send the first frame. If that fails, no death is reported."""
        hooks = policies.HOOKS if policies.needs_hook(self._launch.policies) else None
        await self._lines.send_or_die(encode.initialize(self._request_id(), self._launch.system_prompt, hooks))

    # -- commands -----------------------------------------------------------------------------------------------

    async def prompt(self, prompt: Prompt) -> None:
        content = await self._content(prompt, self._seed)
        self._decoder.prompt = str(uuid.uuid4())
        await self._lines.send_or_die(encode.prompt(self._decoder.prompt, content))
        self._seed = None

    async def steer(self, prompt: Prompt) -> None:
        await self._lines.send(encode.prompt(str(uuid.uuid4()), await self._content(prompt, None)))

    async def answer(self, ask_key: str, answer: Answer) -> None:
        ask = self._decoder.asks.pop(ask_key, None)
        if ask is None:
            raise AgentFailed("The agent no longer waits for this answer.")
        await self._lines.send(encode.answer(ask_key, ask, answer))

    async def interrupt(self) -> None:
        await self._lines.send(encode.interrupt(self._request_id()))

    async def interrupt_subagent(self, call: str) -> bool:
        task = self._decoder.tasks.get(call)
        if task:
            await self._lines.send(encode.stop_task(self._request_id(), task))
        return task is not None

    async def change(self, change: Change) -> bool:
        """False if only a restart helps: to drop permission checks, to install hooks, to reset the effort, or to add to
        the system prompt."""
        applied = change.policies is UNSET or await self._change_policies(change.policies)
        applied = applied and change.system_message is UNSET
        if change.model is not UNSET:
            model = None if change.model == "default" else change.model
            await self._request(lambda id: encode.set_model(id, model))
        if change.permission_mode is not UNSET or change.agent_mode is not UNSET:
            applied = await self._change_mode(change) and applied
        if change.variant is not UNSET:
            variant = change.variant
            applied = applied and variant is not None
            if variant is not None:
                await self._request(lambda id: encode.set_flags(id, {"effortLevel": variant}))
        return applied

    async def close(self, *, force: bool = False) -> None:
        await self._lines.close(force=force)

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
        except ClaudeRefused as refusal:
            self._decoder.mode = before
            if refusal.reason == "bypass_not_launched":
                return False
            raise
        return True

    async def _change_policies(self, changed: ToolPolicies) -> bool:
        """Apply policies from the next call on. False if the process has no hook yet, or not the right tools."""
        self._decoder.policies = changed
        await self._request(lambda id: encode.set_flags(id, policies.flags(changed)))
        launched = self._launch.policies
        return policies.needs_hook(launched) and launched.own_tools == changed.own_tools

    async def _request(self, frame: Callable[[str], bytes]) -> ControlReply:
        request_id = self._request_id()
        reply = self._replies[request_id] = asyncio.get_running_loop().create_future()
        try:
            await self._lines.send(frame(request_id))
            with anyio.fail_after(REPLY_LIMIT):
                answered = await reply
        except TimeoutError:
            raise AgentFailed(f"Claude Code did not acknowledge a change within {REPLY_LIMIT:.0f} seconds.") from None
        finally:
            del self._replies[request_id]
        if answered.subtype == "error":
            raise ClaudeRefused(answered)
        return answered

    def _request_id(self) -> str:
        self._requests += 1
        return f"everyagent-{self._requests}"

    async def _carry_out_effects(self) -> None:
        effects, self._decoder.effects = self._decoder.effects, []
        for effect in effects:
            match effect:
                case UnservedControlRequest():
                    await self._reply(encode.refuse(effect.request_id, effect.subtype))
                case SettledRequest():
                    await self._reply(encode.settle(effect.request_id, effect.response))
                case LapsedAsk():
                    await self._reply(encode.lapse(effect.request_id, effect.ask))
                case ControlReply():
                    waiting = self._replies.get(effect.request_id)
                    if waiting and not waiting.done():
                        waiting.set_result(effect)

    async def _reply(self, frame: bytes) -> None:
        """Failures are only logged: an agent that no longer reads is ending, and its death is reported."""
        try:
            await self._lines.send(frame)
        except AgentFailed as failure:
            logger.info("claude code did not accept a reply", error=failure.detail)

    # -- the process ------------------------------------------------------------------------------------------------

    def _ended(self, exit: Exit | None) -> ProcessEnd:
        """Fail the requests that wait for an acknowledgement."""
        for waiting in self._replies.values():
            if not waiting.done():
                waiting.set_exception(AgentFailed("Claude Code ended before it acknowledged a change."))
        return ProcessEnd(history_lost=self._decoder.history_lost)

    async def _content(self, prompt: Prompt, seed: str | None) -> str | list[dict[str, object]]:
        folder = attached_files.folder_of(prompt, self._launch)
        if prompt.attachments:
            prompt = await to_thread.run_sync(attached_files.reachable, prompt, self._launch)
            return await to_thread.run_sync(attachments.content, prompt, seed, folder)
        return attachments.content(prompt, seed, folder)


class ClaudeRefused(AgentFailed):
    """The agent refused a change; `reason` is its own code for why."""

    def __init__(self, reply: ControlReply) -> None:
        super().__init__(f"Claude Code refused the change: {reply.error}")
        self.reason = reply.error_code
