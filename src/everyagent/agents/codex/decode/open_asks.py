"""Decodes Codex's requests to us: each is answered at once, refused, or asked of the user and remembered while open."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from typing import Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from everyagent.agents.adapter import Draft
from everyagent.agents.codex.decode import asks, tools
from everyagent.agents.codex.decode.asks import Ask
from everyagent.agents.codex.decode.effects import CodexEffect, ImmediateAnswer, UnservedRequest
from everyagent.agents.codex.decode.threads import ThreadItems
from everyagent.agents.codex.policy.policies import CUSTOM_SERVER
from everyagent.agents.codex.policy.policy_hooks import HookDecision, PendingHook, PolicyHooks
from everyagent.agents.codex.protocol import requests, wire
from everyagent.agents.codex.protocol.rpc import RpcMessage

P = TypeVar("P")
F = TypeVar("F", bound=Struct)


class RequestEnvelope(Struct, Generic[P], frozen=True):
    params: P


class CodexOpenAsks:
    """`open` are the asks that a client may answer. `accepts_patches`: changes in `directory` are approved unasked."""

    def __init__(
        self,
        directory: str,
        threads: ThreadItems,
        policy_hooks: PolicyHooks,
        effects: list[CodexEffect],
        now: Callable[[], float],
    ) -> None:
        self.open: dict[str, tuple[wire.Id, Ask]] = {}
        self.accepts_patches = False
        self._directory = directory
        self._threads = threads
        self._policy_hooks = policy_hooks
        self._effects = effects
        self._now = now

    def take(self, key: str) -> tuple[wire.Id, Ask] | None:
        """The ask is answered: what it was, if it was open."""
        return self.open.pop(key, None)

    def ask(self, message: RpcMessage, ask: Ask, requested: asks.Requested) -> Iterator[Draft]:
        if settled := self._policy_hooks.settles(requested):
            self._answer(message, asks.response(ask, settled))
            return
        self.open[_key(message)] = (message.id or 0, ask)
        yield requested

    def patch(self, message: RpcMessage, request: requests.FileApproval) -> Iterator[Draft]:
        key = self._threads.key(message.thread or "", request.item_id)
        call = self._threads.calls.get(key)
        inside = call and all(self._inside(change.path) for change in call.item.changes)
        if self.accepts_patches and inside and not request.grant_root:
            self._answer(message, {"decision": "accept"})
            return
        changes = tools.changes(call.item) if call else []
        yield from self.ask(message, *asks.patch(_key(message), request, changes, key))

    def elicitation(self, message: RpcMessage, request: requests.CodexElicitation) -> Iterator[Draft]:
        approval = request.meta is not None and request.meta.approval_kind == asks.MCP_APPROVAL
        if approval and request.server_name == CUSTOM_SERVER:
            self._answer(message, {"action": "accept", "content": None, "_meta": None})
        else:
            yield from self.ask(message, *asks.elicitation(_key(message), request))

    def hook_called(self, hook: PendingHook) -> Sequence[Draft]:
        outcome, drafts = self._policy_hooks.called(hook)
        if isinstance(outcome, HookDecision):
            self._effects.append(outcome)
        else:
            self.open[hook.key] = (hook.key, outcome.ask)
        return drafts

    def clock(self, message: RpcMessage) -> Sequence[Draft]:
        self._answer(message, {"currentTimeAt": int(self._now())})
        return ()

    def unserved(self, message: RpcMessage) -> Sequence[Draft]:
        self._effects.append(UnservedRequest(message.id or 0, message.method or ""))
        return ()

    def resolved(self, notice: wire.Resolved) -> Sequence[Draft]:
        """Codex also sends this after our own answer; the ask is then no longer open."""
        key = f"ask {notice.request_id}"
        open = self.take(key)
        return (asks.withdrawn(key, open[1]),) if open else ()

    def item_key(self, message: RpcMessage, id: str) -> str:
        return self._threads.key(message.thread or "", id)

    def _answer(self, message: RpcMessage, result: object) -> None:
        self._effects.append(ImmediateAnswer(message.id or 0, result))

    def _inside(self, path: str) -> bool:
        where = PurePath(self._directory, path)
        return where.is_relative_to(self._directory) and ".." not in where.parts


def _key(message: RpcMessage) -> str:
    return f"ask {message.id}"


Handler: TypeAlias = Callable[[CodexOpenAsks, RpcMessage], Sequence[Draft] | None]


def _request(shape: type[F], handle: Callable[[CodexOpenAsks, RpcMessage, F], Iterator[Draft]]) -> Handler:
    decoder = msgspec.json.Decoder(RequestEnvelope[shape])
    return lambda self, message: list(handle(self, message, decoder.decode(message.body).params))


def _asked(
    shape: type[F], ask: Callable[[str, F, str], tuple[Ask, asks.Requested]], item: Callable[[F], str]
) -> Handler:
    """A request that is always asked of the user; `item` is the native id of the item that it is about."""
    return _request(
        shape,
        lambda self, message, request: self.ask(
            message, *ask(_key(message), request, self.item_key(message, item(request)))
        ),
    )


#: Requests of Codex's to us. Every one is answered; one that is not here is refused.
REQUESTS: dict[str, Handler] = {
    "item/commandExecution/requestApproval": _asked(
        requests.CommandApproval, asks.command, lambda request: request.item_id
    ),
    "item/fileChange/requestApproval": _request(requests.FileApproval, CodexOpenAsks.patch),
    "item/permissions/requestApproval": _asked(
        requests.PermissionsApproval, asks.grant, lambda request: request.item_id
    ),
    "item/tool/requestUserInput": _asked(requests.UserInput, asks.questions, lambda request: request.item_id),
    "mcpServer/elicitation/request": _request(requests.CodexElicitation, CodexOpenAsks.elicitation),
    "execCommandApproval": _asked(requests.OldCommandApproval, asks.old_command, lambda request: request.call_id),
    "applyPatchApproval": _asked(requests.OldPatchApproval, asks.old_patch, lambda request: request.call_id),
    "currentTime/read": CodexOpenAsks.clock,
    "item/tool/call": CodexOpenAsks.unserved,
    "account/chatgptAuthTokens/refresh": CodexOpenAsks.unserved,
    "attestation/generate": CodexOpenAsks.unserved,
}
