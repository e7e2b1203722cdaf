"""The open asks of a session: each `*.requested` gets exactly one `*.resolved`."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias, assert_never

from msgspec import convert
from msgspec.structs import replace

from everyagent.clock import rfc3339
from everyagent.errors import BadRequest
from everyagent.model.asks import (
    Answer,
    AskKind,
    AskTimeout,
    PermissionAnswer,
    PermissionDecision,
    PermissionReply,
    QuestionAnswer,
    ToolAnswer,
)
from everyagent.model.events import (
    PermissionRequested,
    PermissionResolved,
    PermissionStatus,
    QuestionRequested,
    QuestionResolved,
    ToolRequested,
    ToolResolved,
)

Request: TypeAlias = PermissionRequested | QuestionRequested | ToolRequested
Resolution: TypeAlias = PermissionResolved | QuestionResolved | ToolResolved
#: Further asks of a session are refused.
MAX_OPEN_ASKS = 1000
#: Finds the universal id of an item by the adapter's key for it.
ItemIds: TypeAlias = Callable[[str | None], str | None]


class PendingAsk(NamedTuple):
    """`key` is the adapter's name for it; `request` is the event that clients see."""

    key: str
    request: Request


class Asks:
    """`_keys` has the id of each open ask by the adapter's key for it. With `derived`, a key may be an id already.

    Asks that are opened `at` a time, in microseconds, expire after the `timeout`.
    """

    __slots__ = ("_derived", "_ids", "_keys", "_pending", "at", "timeout")

    def __init__(self, ids: Callable[[str], str], *, derived: bool = False) -> None:
        self._ids = ids
        self._derived = derived
        self._pending: dict[str, PendingAsk] = {}
        self._keys: dict[str, str] = {}
        self.at = 0
        self.timeout: AskTimeout | None = None

    def __len__(self) -> int:
        return len(self._pending)

    def pending(self, ask_id: str) -> PendingAsk | None:
        return self._pending.get(ask_id)

    def ids(self) -> list[str]:
        return list(self._pending)

    def copy(self) -> "Asks":
        twin = Asks(self._ids, derived=self._derived)
        twin._pending, twin._keys = {**self._pending}, {**self._keys}
        twin.timeout = self.timeout
        return twin

    def open(self, data: Request, known: ItemIds) -> Request | None:
        """The request under its universal id; None if that ask is open already."""
        key = ask_id_of(data)
        if key in self._keys:
            return None
        prefix = _PREFIXES[kind_of(data)]
        request = _with_id(data, key if self._derived and key.startswith(prefix) else self._ids(prefix), known)
        if self.timeout and not isinstance(request, ToolRequested):
            request = replace(request, expires_at=rfc3339(self.at + round(self.timeout.seconds * 1_000_000)))
        self._add(key, request)
        return request

    def _add(self, key: str, request: Request) -> None:
        ask_id = ask_id_of(request)
        self._pending[ask_id] = PendingAsk(key, request)
        self._keys[key] = ask_id

    @property
    def expiring(self) -> bool:
        """An open ask has a deadline."""
        return any(_expires_at(ask.request) for ask in self._pending.values())

    def expired(self, now: str) -> list[tuple[str, Answer]]:
        """The open asks whose deadline is over, with the daemon's answers: refusals if there is no `timeout` now."""
        due = {ask_id: ask.request for ask_id, ask in self._pending.items() if (_expires_at(ask.request) or now) < now}
        return [(ask_id, _default_answer(request, self.timeout)) for ask_id, request in due.items()]

    def over_limit(self) -> list[tuple[Resolution, Answer]]:
        """Refusals of the newest asks, if more than `MAX_OPEN_ASKS` are open. They stay open until `forget`."""
        if len(self._pending) <= MAX_OPEN_ASKS:
            return []
        why = f"The session has {MAX_OPEN_ASKS} open asks, its limit."
        excess = list(self._pending.values())[MAX_OPEN_ASKS:]
        return [(_abandoned(ask.request, why), _refusal(ask.request, why)) for ask in excess]

    def resolve(self, ask_id: str, answer: Answer) -> Resolution:
        """The event that an answer makes. The ask stays open until `forget`."""
        return resolution(self._pending[ask_id].request, answer)

    def resolved_by_agent(self, data: Resolution) -> Resolution | None:
        """The resolution of an ask by the agent itself, under its universal id; None if it is not open."""
        ask_id = self._keys.pop(ask_id_of(data), None)
        return _resolved_as(self._pending.pop(ask_id).request, data) if ask_id else None

    def abandon(self, why: str) -> Iterator[Resolution]:
        for ask in list(self._pending.values()):
            yield _abandoned(ask.request, why)
        self._pending.clear()
        self._keys.clear()

    def observe(self, request: Request) -> None:
        self._add(ask_id_of(request), request)

    def forget(self, data: Request | Resolution) -> PendingAsk | None:
        ask = self._pending.pop(ask_id_of(data), None)
        if ask:
            self._keys.pop(ask.key, None)
        return ask


_PREFIXES: dict[AskKind, str] = {"permission": "perm_", "question": "ques_", "tool": "tool_"}


def kind_of(data: Request | Resolution) -> AskKind:
    match data:
        case PermissionRequested() | PermissionResolved():
            return "permission"
        case QuestionRequested() | QuestionResolved():
            return "question"
        case ToolRequested() | ToolResolved():
            return "tool"
        case _:
            assert_never(data)


def ask_id_of(data: Request | Resolution) -> str:
    match data:
        case PermissionRequested() | PermissionResolved():
            return data.permission_id
        case QuestionRequested() | QuestionResolved():
            return data.question_id
        case ToolRequested() | ToolResolved():
            return data.tool_id
        case _:
            assert_never(data)


def answer_of(data: Resolution) -> Answer:
    """The answer that a resolution contains."""
    match data:
        case PermissionResolved():
            return PermissionAnswer(reply=data.reply or "reject", message=data.message)
        case QuestionResolved():
            return QuestionAnswer(answers=data.answers, message=data.message)
        case ToolResolved():
            return ToolAnswer(output=data.output, is_error=bool(data.is_error))
        case _:
            assert_never(data)


def resolution(request: Request, answer: Answer) -> Resolution:
    match request, answer:
        case PermissionRequested(), PermissionAnswer():
            status = "denied" if answer.reply == "reject" else "approved"
            return _permission(request, status, answer.reply, answer.message)
        case QuestionRequested(), QuestionAnswer():
            answers = answer.answers
            asked = max(1, len(request.questions))
            if answers is not None and len(answers) > asked:
                raise BadRequest(
                    f"This ask has {asked} questions, and {len(answers)} answers came. "
                    "Send one list of chosen labels for each question, in order."
                )
            if answers is not None:
                answers = answers + [[]] * (asked - len(answers))  # questions at the end are left unanswered
            return replace(
                _question(request),
                status="rejected" if answers is None else "answered",
                answers=answers,
                response=", ".join(answers[0]) if answers else None,
                message=answer.message,
            )
        case ToolRequested(), ToolAnswer():
            return replace(
                _tool(request),
                status="failed" if answer.output is None else "answered",
                output=answer.output,
                is_error=answer.is_error or None,
            )
        case _:
            raise BadRequest(f"This ask is a {kind_of(request)}: answer it as one.", kind=kind_of(request))


_DECISIONS: dict[PermissionReply, PermissionDecision] = {
    "once": "accept",
    "always": "accept_for_session",
    "reject": "reject",
}


def _permission(
    request: PermissionRequested, status: PermissionStatus, reply: PermissionReply | None, message: str | None
) -> PermissionResolved:
    resolved = convert(request, PermissionResolved, from_attributes=True)
    return replace(resolved, status=status, reply=reply, decision=_DECISIONS[reply] if reply else None, message=message)


def _question(request: QuestionRequested) -> QuestionResolved:
    return convert(request, QuestionResolved, from_attributes=True)


def _tool(request: ToolRequested) -> ToolResolved:
    return convert(request, ToolResolved, from_attributes=True)


def _expires_at(request: Request) -> str | None:
    return None if isinstance(request, ToolRequested) else request.expires_at


def _default_answer(request: Request, timeout: AskTimeout | None) -> Answer:
    why = "Nobody answered in time (askTimeout)."
    match request, timeout:
        case PermissionRequested(), AskTimeout(permission="allow"):
            return PermissionAnswer(reply="once", message=why)
        case QuestionRequested(), AskTimeout(question=str(text)):
            return QuestionAnswer(answers=[[text]] * max(1, len(request.questions)), message=why)
        case _:
            return _refusal(request, why)


def _refusal(request: Request, why: str) -> Answer:
    match request:
        case PermissionRequested():
            return PermissionAnswer(reply="reject", message=why)
        case QuestionRequested():
            return QuestionAnswer(answers=None, message=why)
        case ToolRequested():
            return ToolAnswer(output=None)
        case _:
            assert_never(request)


def _abandoned(request: Request, why: str) -> Resolution:
    abandoned = resolution(request, _refusal(request, why))
    return replace(abandoned, message=why) if isinstance(abandoned, ToolResolved) else abandoned


def _resolved_as(request: Request, data: Resolution) -> Resolution:
    """The agent's resolution, with all fields of its request."""
    match request, data:
        case PermissionRequested(), PermissionResolved():
            return _permission(request, data.status, data.reply, data.message)
        case QuestionRequested(), QuestionResolved():
            return replace(
                _question(request),
                status=data.status,
                answers=data.answers,
                response=data.response,
                message=data.message,
            )
        case ToolRequested(), ToolResolved():
            return replace(_tool(request), status=data.status, output=data.output, is_error=data.is_error)
        case _:
            return _abandoned(request, "The agent resolved it as something else than it asked.")


def _with_id(data: Request, ask_id: str, known: ItemIds) -> Request:
    match data:
        case PermissionRequested():
            return replace(data, permission_id=ask_id, item_id=known(data.item_id))
        case QuestionRequested():
            return replace(data, question_id=ask_id, item_id=known(data.item_id))
        case ToolRequested():
            return replace(data, tool_id=ask_id)
        case _:
            assert_never(data)
