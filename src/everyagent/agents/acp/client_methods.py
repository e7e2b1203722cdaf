"""Serves an agent's requests for files and terminals of the client, as far as the session's policies allow."""

from functools import partial

import msgspec
from anyio import to_thread

from everyagent.agents.acp import files, wire
from everyagent.agents.acp.decode import AcpDecoder
from everyagent.agents.acp.effects import ClientRequest
from everyagent.agents.acp.terminals import Terminals
from everyagent.agents.adapter import Launch
from everyagent.agents.supervision import OnFault
from everyagent.errors import AgentFailed
from everyagent.model.policies import AgentTool, refusal

_reads = msgspec.json.Decoder(wire.ReadFile)
_writes = msgspec.json.Decoder(wire.WriteFile)
_creations = msgspec.json.Decoder(wire.CreateTerminal)
_on_terminals = msgspec.json.Decoder(wire.OnTerminal)
#: The universal name of the tool that a method stands for.
_TOOLS = {"fs/read_text_file": "read", "fs/write_text_file": "write", "terminal/create": "bash"}
#: A permission to edit a file is one to write it.
_ALIKE = {"write": {"write", "edit"}}


class ClientMethods:
    """The client's side of one session. `on_fault` ends its agent if a terminal cannot be read."""

    def __init__(self, launch: Launch, decoder: AcpDecoder, terminals: Terminals, on_fault: OnFault) -> None:
        self._directory = launch.directory
        self._decoder = decoder
        self._terminals = terminals
        self._on_fault = on_fault

    async def serve(self, request: ClientRequest) -> dict[str, object]:
        """The result. Raises `AgentFailed`, whose text becomes the error that the agent gets."""
        self._check(_TOOLS.get(request.method))
        try:
            return await self._served(request)
        except (msgspec.DecodeError, OSError, ValueError) as problem:
            raise AgentFailed(f"{request.method}: {problem}") from problem

    async def _served(self, request: ClientRequest) -> dict[str, object]:
        match request.method:
            case "fs/read_text_file":
                read = _reads.decode(request.params)
                text = await to_thread.run_sync(partial(files.read, self._directory, read.path, read.line, read.limit))
                return {"content": text}
            case "fs/write_text_file":
                write = _writes.decode(request.params)
                await to_thread.run_sync(partial(files.write, self._directory, write.path, write.content))
                return {}
            case "terminal/create":
                return {"terminalId": await self._terminals.create(_creations.decode(request.params), self._on_fault)}
            case _:
                return await self._on_terminal(request)

    async def _on_terminal(self, request: ClientRequest) -> dict[str, object]:
        name = _on_terminals.decode(request.params).terminal_id
        terminal = self._terminals.get(name)
        match request.method:
            case "terminal/output":
                return terminal.state()
            case "terminal/wait_for_exit":
                return await terminal.wait()
            case "terminal/release":
                await self._terminals.release(name)
                return {}
            case _:
                await terminal.kill()
                return {}

    def _check(self, tool: str | None) -> None:
        """Refuse what policies deny, what they ask for and nobody allowed in this turn, and any change in plan mode.

        Everything else the agent asks for by itself.
        """
        if tool is None:
            return
        verdict = self._decoder.policies.verdict(AgentTool(name=tool, kinds=[tool]))
        if verdict == "deny":
            raise AgentFailed(refusal(tool))
        if verdict == "ask" and not self._decoder.permitted & _ALIKE.get(tool, {tool}):
            raise AgentFailed(f"The session's tool policies ask for {tool}. Request a permission for the call first.")
        if self._decoder.mode == "plan" and tool != "read":
            raise AgentFailed("The session is in plan mode, so nothing may be changed.")
