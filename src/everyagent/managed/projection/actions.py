"""Required actions of clients: confirmations, custom tools, questions. One idle event lists all that are open; each is
closed by a separate event. Those of an agent that ended with its daemon stay open after its turn."""

import hashlib
from typing import assert_never

import msgspec
from msgspec.structs import replace

from everyagent.managed.projection.commands import ThreadReport
from everyagent.managed.projection.emitter import Emitter
from everyagent.managed.projection.events import CustomToolUse, Stop, ToolResult, ToolUse
from everyagent.managed.projection.naming import QUESTION_TOOL, TOOLSET, as_input, event_id, tool_name
from everyagent.managed.projection.state import Action, Grant, Thread
from everyagent.managed.projection.statuses import Statuses
from everyagent.managed.projection.tools import Tools, evaluated
from everyagent.managed.sessions.blocks import ResultBlock, Text
from everyagent.managed.sessions.client_events import (
    ClientEvent,
    UserCustomToolResult,
    UserToolConfirmation,
    UserToolResult,
    answered_use,
)
from everyagent.model.asks import Question, QuestionOption
from everyagent.model.events import (
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    ToolRequested,
    ToolResolved,
)
from everyagent.model.parts import Json

#: The state has so many answers, for clients that send one again. Earlier ones are looked up in the log.
REMEMBERED = 64
DENIED = "The user did not allow this call."
NOT_ASKED = "The agent ended this call without asking."
_QUESTIONS = msgspec.json.Encoder()


class Actions:
    """`answered` are actions that the client answers in the current frame: their events exist already."""

    def __init__(self, emitter: Emitter, tools: Tools, statuses: Statuses) -> None:
        self._emitter = emitter
        self._tools = tools
        self._statuses = statuses
        self.answered: set[str] = set()

    # -- asked ----------------------------------------------------------------------------------------------

    def asked(self, data: PermissionRequested | QuestionRequested | ToolRequested) -> None:
        self._made(data.item_id)
        match data:
            case PermissionRequested():
                self._confirm(data)
                return
            case QuestionRequested():
                questions: Json = msgspec.to_builtins(data.questions or [_only(data)])
                action = Action(
                    ask_id=data.question_id,
                    kind="question",
                    name=QUESTION_TOOL,
                    input={"questions": questions},
                    item=data.item_id,
                )
                self._custom(action)
            case ToolRequested():
                if self._tools.document.self_hosted and data.name in TOOLSET:
                    self._toolset(data)
                else:
                    given = as_input(data.input)
                    self._custom(
                        Action(ask_id=data.tool_id, kind="custom", name=data.name, input=given, item=data.item_id)
                    )
            case _:
                assert_never(data)
        self._emitter.state.unsettled = True

    def _made(self, item: str | None) -> None:
        """The model has written the input of a call that asks, also if its agent never reports that input.

        If the item is unknown, it may be any of them, and the agent may make the others only after an answer.
        """
        state = self._emitter.state
        state.calling = [each for each in state.calling if each != item] if item else []

    def _confirm(self, data: PermissionRequested) -> None:
        state = self._emitter.state
        given, item = as_input(data.input), data.item_id or data.permission_id
        use = state.uses.get(item)
        if use and (announced := state.actions.get(use.event)) and not announced.ask_id:
            announced.ask_id = data.permission_id
            return
        name = use.name if use else tool_name(data.tool or data.action, None).name
        granted = any(grant.name == name and grant.input == given for grant in state.grants)
        if use and use.early:
            use.early, granted = False, True
        if use is None or use.hidden:
            thread = use.thread if use else None
            use = self._tools.begin(item, data.tool or data.action, None, given, thread, ask=not granted)
        elif not granted:
            self._tools.ask(use)
        state.unsettled = state.unsettled or not granted
        state.actions[use.event] = Action(
            ask_id=data.permission_id,
            kind="confirmation",
            name=use.name,
            input=given,
            item=item,
            thread=use.thread,
            granted=granted,
        )

    def _custom(self, action: Action) -> None:
        emitter = self._emitter
        made = event_id(emitter.session_id, "ask", action.ask_id)
        emitter.emit(CustomToolUse(id=made, processed_at=emitter.time, name=action.name, input=action.input))
        emitter.state.actions[made] = action

    def _toolset(self, data: ToolRequested) -> None:
        """A tool of the toolset that the client's own machine runs."""
        emitter = self._emitter
        made, given = event_id(emitter.session_id, "ask", data.tool_id), as_input(data.input)
        policy = self._tools.document.policy(data.name, None)
        permission, evaluation = evaluated(policy, asked=policy == "always_ask")
        emitter.emit(
            ToolUse(
                id=made,
                processed_at=emitter.time,
                name=data.name,
                input=given,
                evaluated_permission=permission,
                evaluation=evaluation,
            )
        )
        emitter.state.actions[made] = Action(
            ask_id=data.tool_id,
            kind="result",
            name=data.name,
            input=given,
            item=data.item_id,
            unconfirmed=permission == "ask",
        )

    def _announce(self) -> None:
        """Adds the confirmations that the agent has yet to ask for: it may run the calls of a message one by one."""
        state = self._emitter.state
        for item, use in state.uses.items():
            known = use.answered or use.hidden or use.thread or use.event in state.actions
            if use.asked and not known and (use.server or use.name in TOOLSET):
                state.actions[use.event] = Action(
                    ask_id="", kind="confirmation", name=use.name, input=use.input, item=item
                )

    # -- resolved -------------------------------------------------------------------------------------------

    def resolved(self, data: PermissionResolved | QuestionResolved | ToolResolved) -> None:
        found = self._find(data)
        if found is None:
            return
        event, action = found
        state = self._emitter.state
        state.unsettled = state.unsettled or not action.granted
        self._end(event, action)
        if not state.turn and isinstance(data, PermissionResolved) and data.status == "approved":
            state.grants.append(Grant(name=action.name, input=action.input))
        if event in self.answered:
            self._emit_denied(event, action)
        elif not action.granted:
            self._emit_for_client(event, action, data)
            if not state.turn:
                self._tools.close(but=set(state.actions))

    def _end(self, event: str, action: Action) -> None:
        state = self._emitter.state
        del state.actions[event]
        if action.item in state.uses:
            state.uses[action.item].answered = True

    def withdraw(self, *, turn_over: bool = False) -> None:
        """Closes confirmations that the agent did not ask for before their call, or the turn, was over."""
        state = self._emitter.state
        for event, action in list(state.actions.items()):
            if not action.ask_id and not action.session and (turn_over or action.item not in state.uses):
                state.unsettled = True
                self._end(event, action)
                self._emit_closed(event, action, NOT_ASKED)

    def take_answer(self, event: str, given: ClientEvent) -> None:
        action = self._emitter.state.actions.get(event)
        if action and (action.session or not action.ask_id):
            self._emitter.state.unsettled = True
            self._end(event, action)
            if not action.session:
                self._emitter.state.uses[action.item or ""].early = True
        self.answered.add(event)
        answers = self._emitter.state.answers
        answers[event] = digest_of(given)
        while len(answers) > REMEMBERED:
            del answers[next(iter(answers))]

    def confirm(self, event: str) -> None:
        """The client may run the tool now; the action stays open until its result arrives."""
        action = self._emitter.state.actions.get(event)
        if action is not None:
            state = self._emitter.state
            state.unsettled = True
            action.unconfirmed = False
            state.confirmed = [*state.confirmed, event][-REMEMBERED:]

    def follow(self, thread: Thread, report: ThreadReport) -> None:
        """Surfaces what a thread of the roster requires, and closes what it requires no more."""
        emitter, state = self._emitter, self._emitter.state
        for answer in report.answers:
            self._answered_in(thread, answer)
        for event, action in list(state.actions.items()):
            if action.session == thread.session and event not in report.asks:
                state.unsettled = True
                self._end(event, action)
        for event, ask in report.asks.items():
            if event in state.answers:
                continue
            if event not in state.actions:
                state.unsettled = True
                emitter.emit(replace(ask.use, processed_at=emitter.time, session_thread_id=thread.id))
            state.actions[event] = replace(ask.action, item=None, thread=thread.id, session=thread.session)

    def _answered_in(
        self, thread: Thread, answer: UserToolConfirmation | UserCustomToolResult | UserToolResult
    ) -> None:
        """Shows an answer that a thread got, unless the session has it."""
        used = answered_use(answer) or ""
        action = self._emitter.state.actions.get(used)
        if action is None:
            return
        allowed = isinstance(answer, UserToolConfirmation) and action.kind == "result" and answer.result == "allow"
        if allowed and not action.unconfirmed:
            return
        self._echo(replace(answer, session_thread_id=thread.id))
        if allowed:
            self.confirm(used)
        else:
            self.take_answer(used, answer)

    def outlive(self) -> None:
        """The turn has ended, and its actions are still open."""
        self._emitter.state.unsettled = True

    def _find(self, data: PermissionResolved | QuestionResolved | ToolResolved) -> tuple[str, Action] | None:
        match data:
            case PermissionResolved():
                ask_id = data.permission_id
            case QuestionResolved():
                ask_id = data.question_id
            case ToolResolved():
                ask_id = data.tool_id
            case _:
                assert_never(data)
        actions = self._emitter.state.actions.items()
        return next(((event, action) for event, action in actions if action.ask_id == ask_id), None)

    def _emit_for_client(
        self, event: str, action: Action, data: PermissionResolved | QuestionResolved | ToolResolved
    ) -> None:
        """Closes an action that was answered elsewhere, or cannot be answered any more, by the client event for it."""
        match data:
            case PermissionResolved():
                allowed = data.status == "approved"
                self._echo(
                    UserToolConfirmation(
                        id=self._id(event),
                        tool_use_id=event,
                        result="allow" if allowed else "deny",
                        deny_message=None if allowed else data.message,
                        session_thread_id=action.thread,
                    )
                )
            case QuestionResolved():
                answers = None if data.answers is None else _QUESTIONS.encode(data.answers).decode()
                self._emit_closed(event, action, answers or data.message or "", failed=data.answers is None)
            case ToolResolved():
                failed = bool(data.is_error) or data.status == "failed"
                self._emit_closed(event, action, data.output or data.message or "", failed=failed)
            case _:
                assert_never(data)

    def _emit_closed(self, event: str, action: Action, text: str, *, failed: bool = True) -> None:
        made, error = self._id(event), failed or None
        content = [Text(text=text)] if text else []
        match action.kind:
            case "confirmation":
                self._echo(UserToolConfirmation(id=made, tool_use_id=event, result="deny", deny_message=text))
            case "result" if action.unconfirmed and failed:
                self._echo(UserToolConfirmation(id=made, tool_use_id=event, result="deny", deny_message=text))
                self._emit_denied(event, action)
            case "result":
                if action.unconfirmed:
                    confirmed = event_id(self._emitter.session_id, "confirmation", event)
                    self._echo(UserToolConfirmation(id=confirmed, tool_use_id=event, result="allow"))
                self._echo(UserToolResult(id=made, tool_use_id=event, content=[*content], is_error=error))
            case "custom" | "question":
                self._echo(UserCustomToolResult(id=made, custom_tool_use_id=event, content=[*content], is_error=error))
            case _:
                assert_never(action.kind)

    def _emit_denied(self, event: str, action: Action) -> None:
        """Adds the error result of a tool call that was denied."""
        if not action.unconfirmed:
            return
        emitter = self._emitter
        made = event_id(emitter.session_id, "result", event)
        content: list[ResultBlock] = [Text(text=DENIED)]
        emitter.emit(ToolResult(id=made, processed_at=emitter.time, tool_use_id=event, content=content, is_error=True))

    def _echo(self, event: UserToolConfirmation | UserCustomToolResult | UserToolResult) -> None:
        self._emitter.echo(event, processed=True)

    def _id(self, event: str) -> str:
        return event_id(self._emitter.session_id, "answer", event)

    # -- end of a frame -----------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Forgets the asks and answers of a frame that was not written."""
        self.answered = set()

    def settle(self) -> None:
        """At the end of a frame: one idle event for all open actions, or back to running if none is open."""
        state = self._emitter.state
        if not state.unsettled:
            return
        if state.actions and state.calling:
            return  # the model's message is not complete
        if state.actions and (state.waiting or any(action.session for action in state.actions.values())):
            state.unsettled = False
            self._announce()
            self._statuses.rest(Stop(type="requires_action", event_ids=self._in_order()))
        elif not state.actions:
            state.unsettled = False
            if state.turn:
                self._statuses.run()

    def _in_order(self) -> list[str]:
        """Open actions in the order of the calls in their message."""
        state = self._emitter.state
        places = {item: place for place, item in enumerate(state.uses)}
        last = len(places)
        return sorted(state.actions, key=lambda event: places.get(state.actions[event].item or "", last))


def digest_of(answer: ClientEvent) -> str:
    """The same for equal answers to one action."""
    plain = msgspec.structs.replace(answer, id="", processed_at=None, session_thread_id=None)
    return hashlib.blake2b(msgspec.json.encode(plain), digest_size=8).hexdigest()


def _only(data: QuestionRequested) -> Question:
    return Question(prompt=data.prompt, options=[QuestionOption(label=label) for label in data.options])
