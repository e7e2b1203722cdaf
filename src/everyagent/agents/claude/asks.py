"""Decodes what Claude Code asks its user: permissions, questions, plans, forms. Pure; `answers.py` encodes answers."""

from typing import TypeAlias

import msgspec
from msgspec import Raw, Struct

from everyagent.agents.claude import wire, wire_control
from everyagent.agents.forms import field_question, requested, yes_or_no
from everyagent.model.asks import Question, QuestionOption
from everyagent.model.events import PermissionRequested, PermissionResolved, QuestionRequested, QuestionResolved
from everyagent.model.parts import Json

Requested: TypeAlias = PermissionRequested | QuestionRequested
Resolved: TypeAlias = PermissionResolved | QuestionResolved

APPROVE_EDITS = "Yes, and accept edits"
APPROVE = "Yes, and ask before edits"
KEEP_PLANNING = "No, keep planning"
_WITHDRAWN = "The agent withdrew it."


class ClaudePermissionAsk(Struct, frozen=True):
    """A tool call to be allowed. `each_time`: a policy demands a question for each call, so `always` is not stored."""

    tool: str
    suggestions: list[object]
    each_time: bool = False


class ClaudeQuestionsAsk(Struct, frozen=True):
    input: dict[str, object]
    questions: list[str]


class ClaudePlanAsk(Struct, frozen=True):
    """The agent's plan, which it asks to be approved before it leaves plan mode."""


class ClaudeFormAsk(Struct, frozen=True):
    """An MCP server's elicitation: the fields of its form, in the order of the questions."""

    fields: list[str]
    types: list[str | None]


Ask: TypeAlias = ClaudePermissionAsk | ClaudeQuestionsAsk | ClaudePlanAsk | ClaudeFormAsk
#: Asks whose prompt or options are worded here, not by the agent.
WORDED = (ClaudePlanAsk, ClaudeFormAsk)

_questions = msgspec.json.Decoder(wire_control.QuestionInput)
_plans = msgspec.json.Decoder(wire.PlanInput)
_objects = msgspec.json.Decoder(dict[str, object])


def tool(
    key: str, request: wire_control.CanUseTool, item: str, plan: str | None, *, each_time: bool = False
) -> tuple[Ask, Requested]:
    """`item` is the key of the call that is asked for, `plan` the plan in it, which the request may leave out."""
    match request.tool_name:
        case "AskUserQuestion":
            return _asked(key, request, item)
        case "ExitPlanMode":
            return ClaudePlanAsk(), _plan(key, item, _plans.decode(request.input).plan or plan)
        case _:
            ask = ClaudePermissionAsk(request.tool_name, request.permission_suggestions or [], each_time)
            return ask, _permission(key, request, item, each_time=each_time)


def form(key: str, request: wire_control.ClaudeElicitation) -> tuple[Ask, Requested]:
    schema = request.requested_schema or wire_control.ClaudeFormSchema()
    fields = [name for name in request.property_order or schema.properties if name in schema.properties]
    types = [schema.properties[name].type for name in fields]
    if not fields:
        where = f" {request.url}" if request.url else ""
        questions = [Question(prompt=f"{request.message}{where}", header=request.mcp_server_name, options=yes_or_no())]
    else:
        questions = [_field(request, name, schema.properties[name]) for name in fields]
    return ClaudeFormAsk(fields, types), requested(key, questions, None)


def withdrawn(key: str, ask: Ask) -> Resolved:
    match ask:
        case ClaudePermissionAsk():
            return PermissionResolved(
                permission_id=key, action=ask.tool, status="denied", reply="reject", message=_WITHDRAWN
            )
        case ClaudeQuestionsAsk() | ClaudePlanAsk() | ClaudeFormAsk():
            return QuestionResolved(question_id=key, prompt="", options=[], status="rejected", message=_WITHDRAWN)


def plan_of(input: Raw) -> str | None:
    try:
        return _plans.decode(input).plan
    except msgspec.ValidationError:
        return None


def _permission(key: str, request: wire_control.CanUseTool, item: str, *, each_time: bool) -> PermissionRequested:
    facts: dict[str, Json] = {
        "description": request.description,
        "blocked_path": request.blocked_path,
        "reason": request.decision_reason,
        "mcp_server": request.mcp_server.name if request.mcp_server else None,
        "agent_id": request.agent_id,
    }
    return PermissionRequested(
        permission_id=key,
        action=request.tool_name,
        status="requested",
        metadata={name: value for name, value in facts.items() if value is not None} or None,
        tool=request.tool_name,
        input=msgspec.json.decode(request.input),
        options=["once", "reject"] if each_time else ["once", "always", "reject"],
        suggestions=[] if each_time else request.permission_suggestions or [],
        item_id=item,
    )


def _asked(key: str, request: wire_control.CanUseTool, item: str) -> tuple[Ask, Requested]:
    asked = _questions.decode(request.input).questions
    questions = [
        Question(
            prompt=each.question,
            header=each.header,
            options=[QuestionOption(label=option.label, description=option.description) for option in each.options],
            multi_select=each.multiSelect,
        )
        for each in asked
    ]
    ask = ClaudeQuestionsAsk(_objects.decode(request.input), [each.question for each in asked])
    return ask, requested(key, questions, item)


def _plan(key: str, item: str, plan: str | None) -> QuestionRequested:
    prompt = f"Claude wants to leave plan mode and carry out this plan:\n\n{plan or '(no plan was written)'}"
    options = [
        QuestionOption(label=APPROVE_EDITS, description="Carry it out; files are edited without asking"),
        QuestionOption(label=APPROVE, description="Carry it out; every edit is asked for"),
        QuestionOption(label=KEEP_PLANNING, description="Stay in plan mode; any other text says what to change"),
    ]
    return requested(key, [Question(prompt=prompt, header="Plan", options=options)], item)


def _field(request: wire_control.ClaudeElicitation, name: str, field: wire_control.ClaudeFormProperty) -> Question:
    return field_question(
        request.message,
        field.title or name,
        description=field.description,
        type=field.type,
        values=field.enum,
        names=field.enumNames,
        header=request.mcp_server_name,
    )
