"""The adapter of Amp: one process at a time for each session, and a socket for its permission hooks."""

from functools import partial

from anyio import to_thread

from everyagent.agents.adapter import Launch, Listener
from everyagent.agents.adapter_context import AdapterContext
from everyagent.agents.amp import catalog, program
from everyagent.agents.amp import launch as launching
from everyagent.agents.amp.driver import AmpConversation
from everyagent.agents.hook_server import HookServer
from everyagent.agents.program_adapter import ProgramAdapter
from everyagent.runtime.process import Process


class AmpAdapter(ProgramAdapter):
    identity = program.IDENTITY
    offered = catalog.CAPABILITIES
    unasked = catalog.CATALOG

    def __init__(self, around: AdapterContext) -> None:
        super().__init__(around)
        self._hook_server = HookServer(around.tasks)

    async def open(self, launch: Launch, listener: Listener) -> AmpConversation:
        start = partial(self._start, launch, self._program.located())
        conversation = AmpConversation(launch, listener, self._tasks, self._hook_server, start)
        await conversation.begin()
        return conversation

    async def close(self) -> None:
        await self._hook_server.close()
        await super().close()

    async def _start(self, launch: Launch, binary: str, conversation: AmpConversation) -> Process:
        environment = launching.environment(launch, self._environment)
        address = launching.HookAddress(socket=await self._hook_server.open(), token=conversation.token)
        mode, policies = conversation.mode, conversation.policies
        files = await to_thread.run_sync(launching.prepare, launch, environment, mode, policies, address)
        return await Process.start(
            launching.argv(binary, launch, files, conversation.thread),
            directory=launch.directory,
            environment=environment,
            reaper=self._reaper,
            wall=await self._wall(launch, environment, program.native(environment), [address.socket.parent]),
            limits=launch.limits,
            network=launch.shell.network if launch.shell else None,
        )
