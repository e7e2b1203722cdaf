"""Events of tool calls and their results. A use is emitted once, and again if it needs a confirmation."""

from everyagent.managed.projection.document import PolicyType, SessionDocument
from everyagent.managed.projection.emitter import Emitter
from everyagent.managed.projection.events import McpToolResult, McpToolUse, Permission, ToolResult, ToolUse
from everyagent.managed.projection.naming import event_id, parsed, tool_name
from everyagent.managed.projection.state import Use
from everyagent.managed.projection.threads import SubagentThreads
from everyagent.managed.sessions.blocks import Base64Source, Image, ResultBlock, Text
from everyagent.model.items import Item
from everyagent.model.parts import FileRefPart, ImagePart, Json, Object, ToolCallPart, ToolResultPart
from everyagent.model.tools import TOOLS_SERVER

_CUT = "The turn ended before this call had a result."


class Tools:
    """`document` is the session's current one."""

    def __init__(self, emitter: Emitter, threads: SubagentThreads, document: SessionDocument) -> None:
        self._emitter = emitter
        self._threads = threads
        self.document = document

    def call(self, item: Item) -> None:
        for part in item.content:
            if isinstance(part, ToolCallPart):
                use = self._emitter.state.uses.get(item.item_id)
                if use is None:
                    thread = (
                        self._threads.of(item.subagent, self.started_by(item.subagent)).id if item.subagent else None
                    )
                    use = self.begin(item.item_id, part.name, part.mcp_server, parsed(part.arguments), thread)
                use.call_id = part.call_id
                return

    def begin(
        self,
        item_id: str,
        native: str,
        server: str | None,
        given: Object,
        thread: str | None,
        *,
        ask: bool = False,
    ) -> Use:
        """Emits a use for the first time."""
        name, server = tool_name(native, server)
        use = self._emitter.state.uses[item_id] = Use(
            event=event_id(self._emitter.session_id, "use", item_id),
            name=name,
            server=server,
            thread=thread,
            hidden=server == TOOLS_SERVER,
            input=given,
        )
        self._threads.called(thread)
        if not use.hidden:
            use.asked = ask or self.document.policy(name, server) == "always_ask"
            use.position = self._emit(use, use.thread)
        return use

    def ask(self, use: Use) -> None:
        """The use needs a confirmation: emitted on the session's own thread, also for a sub-agent."""
        known, use.asked = use.asked, True
        if use.thread:
            self._emitter.emit(self._event(use, shown_on=None))
        elif not known:
            use.position = self._emitter.emit(self._event(use, shown_on=None), again=use.position)

    def started_by(self, item_id: str) -> Use | None:
        """The open call that started a sub-agent."""
        return self._emitter.state.uses.get(item_id)

    def result(self, item: Item) -> None:
        for part in item.content:
            if not isinstance(part, ToolResultPart):
                continue
            for item_id, use in list(self._emitter.state.uses.items()):
                if use.call_id == part.call_id:
                    self._threads.finish(item_id, part.output)
                    self._close(item_id, _blocks(item, part), failed=bool(part.is_error) or item.status == "failed")
                    self._threads.returned(use.thread)

    def close(self, *, but: set[str]) -> None:
        """Ends the uses that have no result when the turn ends."""
        for item_id, use in list(self._emitter.state.uses.items()):
            if use.event not in but:
                self._close(item_id, [Text(text=_CUT)], failed=True)

    def _close(self, item_id: str, content: list[ResultBlock], *, failed: bool) -> None:
        emitter = self._emitter
        use = emitter.state.uses.pop(item_id)
        if use.hidden:
            return
        made = event_id(emitter.session_id, "result", item_id)
        error = failed or None
        if use.server:
            event = McpToolResult(
                id=made, processed_at=emitter.time, mcp_tool_use_id=use.event, content=content, is_error=error
            )
        else:
            event = ToolResult(
                id=made, processed_at=emitter.time, tool_use_id=use.event, content=content, is_error=error
            )
        self._threads.emit_on(use.thread, event)

    def _emit(self, use: Use, thread: str | None) -> int:
        event = self._event(use, shown_on=thread)
        if thread is None:
            return self._emitter.emit(event)
        self._emitter.emit_on_thread(thread, event)
        return 0

    def _event(self, use: Use, *, shown_on: str | None) -> ToolUse | McpToolUse:
        permission, evaluation = evaluated(self.document.policy(use.name, use.server), asked=use.asked)
        cross_posted = use.thread if shown_on is None else None
        if use.server:
            return McpToolUse(
                id=use.event,
                processed_at=self._emitter.time,
                name=use.name,
                mcp_server_name=use.server,
                input=use.input,
                evaluated_permission=permission,
                evaluation=evaluation,
                session_thread_id=cross_posted,
            )
        return ToolUse(
            id=use.event,
            processed_at=self._emitter.time,
            name=use.name,
            input=use.input,
            evaluated_permission=permission,
            evaluation=evaluation,
            session_thread_id=cross_posted,
        )


def evaluated(policy: PolicyType, *, asked: bool) -> tuple[Permission, Json]:
    """The permission of a use, and how the policy evaluated it."""
    permission: Permission = "ask" if asked else "allow"
    if policy != "auto":
        return permission, {"type": policy}
    judged: Json = {"type": "ask", "reason_code": "agent_asked"} if asked else {"type": "allow"}
    return permission, {"type": "auto", "evaluated_permission": judged}


def _blocks(item: Item, result: ToolResultPart) -> list[ResultBlock]:
    blocks: list[ResultBlock] = [Text(text=result.output)] if result.output else []
    for part in item.content:
        match part:
            case ImagePart(data=str(data), mime=mime):
                blocks.append(Image(source=Base64Source(media_type=mime or "image/png", data=data)))
            case FileRefPart(diff=str(diff)) if not result.output:
                blocks.append(Text(text=diff))
            case _:
                continue
    return blocks
