"""Codex's asks of its user (approvals, questions, forms of MCP servers) and the answers to them. Pure."""

import re
from collections.abc import Mapping
from typing import TypeAlias, assert_never

from msgspec import Struct
from msgspec.structs import replace

from everyagent.agents.codex.protocol import requests
from everyagent.agents.forms import NO, field_question, requested, typed, yes_or_no
from everyagent.errors import AgentFailed
from everyagent.model.asks import Answer, PermissionAnswer, PermissionReply, Question, QuestionAnswer, QuestionOption
from everyagent.model.events import PermissionRequested, PermissionResolved, QuestionRequested, QuestionResolved
from everyagent.model.parts import Json

Requested: TypeAlias = PermissionRequested | QuestionRequested

MCP_APPROVAL = "mcp_tool_call"
_WITHDRAWN = "Codex went on without an answer."
_TOOL = re.compile(r'run tool "([^"]+)"')


class DecisionAsk(Struct, frozen=True):
    """A command or a patch; `action` is the name of the permission."""

    action: str


class OldDecisionAsk(Struct, frozen=True):
    """A permission request in the protocol's first version."""

    action: str


class GrantAsk(Struct, frozen=True):
    """Rights for the rest of the turn or the session."""

    permissions: dict[str, object]


class McpToolAsk(Struct, frozen=True):
    tool: str


class HookAsk(Struct, frozen=True):
    """A call that the session's policies ask about: its hook waits."""

    action: str


class CodexQuestionsAsk(Struct, frozen=True):
    ids: list[str]


class CodexFormAsk(Struct, frozen=True):
    """An MCP server's elicitation: the fields of its form, in order."""

    fields: list[str]
    types: list[str | None]


Ask: TypeAlias = DecisionAsk | OldDecisionAsk | GrantAsk | McpToolAsk | HookAsk | CodexQuestionsAsk | CodexFormAsk


# -- asking -----------------------------------------------------------------------------------------------------


def command(key: str, request: requests.CommandApproval, item: str) -> tuple[Ask, Requested]:
    network = request.network_approval_context
    action = "network" if network else "shell"
    facts: dict[str, Json] = {
        "reason": request.reason,
        "network": network,
        "additional_permissions": request.additional_permissions,
    }
    amendment = request.proposed_execpolicy_amendment
    return DecisionAsk(action), _permission(
        key,
        action,
        {"command": request.command, "cwd": request.cwd},
        item=item,
        facts=facts,
        suggestions=[{"allow_prefix": list(amendment)}] if amendment else [],
    )


def patch(key: str, request: requests.FileApproval, changes: list[object], item: str) -> tuple[Ask, Requested]:
    facts: dict[str, Json] = {"reason": request.reason, "grant_root": request.grant_root}
    return DecisionAsk("apply_patch"), _permission(key, "apply_patch", {"changes": changes}, item=item, facts=facts)


def old_command(key: str, request: requests.OldCommandApproval, item: str) -> tuple[Ask, Requested]:
    input: dict[str, object] = {"command": " ".join(request.command), "cwd": request.cwd}
    return OldDecisionAsk("shell"), _permission(key, "shell", input, item=item, facts={"reason": request.reason})


def old_patch(key: str, request: requests.OldPatchApproval, item: str) -> tuple[Ask, Requested]:
    input: dict[str, object] = {"changes": request.file_changes}
    return OldDecisionAsk("apply_patch"), _permission(
        key, "apply_patch", input, item=item, facts={"reason": request.reason}
    )


def grant(key: str, request: requests.PermissionsApproval, item: str) -> tuple[Ask, Requested]:
    input: dict[str, object] = {"permissions": request.permissions, "cwd": request.cwd}
    return GrantAsk(request.permissions), _permission(
        key, "permissions", input, item=item, facts={"reason": request.reason}
    )


def hooked(key: str, tool: str, server: str | None, input: Json, item: str | None) -> tuple[Ask, PermissionRequested]:
    asked = _permission(key, tool, input, item=item or "", facts={"mcp_server": server})
    return HookAsk(tool), replace(asked, options=["once", "reject"])


def questions(key: str, request: requests.UserInput, item: str) -> tuple[Ask, Requested]:
    asked = [
        Question(
            prompt=each.question,
            header=each.header,
            options=[QuestionOption(label=one.label, description=one.description) for one in each.options or []],
        )
        for each in request.questions
    ]
    return CodexQuestionsAsk([each.id for each in request.questions]), requested(key, asked, item)


def elicitation(key: str, request: requests.CodexElicitation) -> tuple[Ask, Requested]:
    meta = request.meta
    if meta and meta.approval_kind == MCP_APPROVAL:
        found = _TOOL.search(request.message)
        tool = meta.tool_name or (found[1] if found else request.server_name)
        facts: dict[str, Json] = {
            "mcp_server": request.server_name,
            "description": meta.tool_description,
            "message": request.message,
        }
        return McpToolAsk(tool), _permission(key, tool, meta.tool_params, item="", facts=facts)
    fields = (request.requested_schema or requests.FormSchema()).properties
    if fields:
        asked = [_field(request, name, each) for name, each in fields.items()]
    else:
        where = f" {request.url}" if request.url else ""
        asked = [Question(prompt=f"{request.message}{where}", header=request.server_name, options=yes_or_no())]
    return CodexFormAsk(list(fields), [each.type for each in fields.values()]), requested(key, asked, "")


def withdrawn(key: str, ask: Ask) -> PermissionResolved | QuestionResolved:
    match ask:
        case CodexQuestionsAsk() | CodexFormAsk():
            return QuestionResolved(question_id=key, prompt="", options=[], status="rejected", message=_WITHDRAWN)
        case DecisionAsk() | OldDecisionAsk() | GrantAsk() | McpToolAsk() | HookAsk():
            return PermissionResolved(permission_id=key, action="", status="denied", reply="reject", message=_WITHDRAWN)
        case _:
            assert_never(ask)


def _permission(
    key: str, action: str, input: Json, *, item: str, facts: Mapping[str, Json], suggestions: list[Json] | None = None
) -> PermissionRequested:
    return PermissionRequested(
        permission_id=key,
        action=action,
        status="requested",
        metadata={name: value for name, value in facts.items() if value is not None} or None,
        tool=action,
        input=input,
        options=["once", "always", "reject"],
        suggestions=suggestions or [],
        item_id=item or None,
    )


def _field(request: requests.CodexElicitation, name: str, field: requests.FormField) -> Question:
    return field_question(
        request.message,
        field.title or name,
        description=field.description,
        type=field.type,
        values=field.enum,
        names=field.enum_names,
        header=request.server_name,
    )


# -- answering --------------------------------------------------------------------------------------------------

_DECISIONS: dict[PermissionReply, str] = {"once": "accept", "always": "acceptForSession", "reject": "decline"}
_OLD_DECISIONS: dict[PermissionReply, str] = {"once": "approved", "always": "approved_for_session"}


def response(ask: Ask, answer: Answer) -> dict[str, object]:
    """The answer to Codex's request. A rejection does not end the turn: Codex continues without it."""
    match ask, answer:
        case DecisionAsk(), PermissionAnswer():
            return {"decision": _DECISIONS[answer.reply]}
        case OldDecisionAsk(), PermissionAnswer():
            denied = {"denied": {"rejection": answer.message or "The user declined."}}
            return {"decision": _OLD_DECISIONS.get(answer.reply, denied)}
        case GrantAsk(), PermissionAnswer():
            if answer.reply == "reject":
                return {"permissions": {}, "scope": "turn"}
            return {"permissions": ask.permissions, "scope": "session" if answer.reply == "always" else "turn"}
        case McpToolAsk(), PermissionAnswer():
            action = "decline" if answer.reply == "reject" else "accept"
            meta = {"persist": "session"} if answer.reply == "always" else None
            return {"action": action, "content": None, "_meta": meta}
        case CodexQuestionsAsk(), QuestionAnswer():
            given = zip(ask.ids, answer.answers or [], strict=False)
            return {"answers": {id: {"answers": words} for id, words in given}}
        case CodexFormAsk(), QuestionAnswer():
            return _filled(ask, answer)
        case _:
            raise AgentFailed("The answer does not fit the type of the ask, so it was not sent to the agent.")


def _filled(ask: CodexFormAsk, answer: QuestionAnswer) -> dict[str, object]:
    if answer.answers is None or (not ask.fields and answer.answers == [[NO]]):
        return {"action": "decline", "content": None, "_meta": None}
    filled = zip(ask.fields, ask.types, answer.answers, strict=False)
    content = {name: typed(type, ", ".join(words)) for name, type, words in filled}
    return {"action": "accept", "content": content, "_meta": None}
