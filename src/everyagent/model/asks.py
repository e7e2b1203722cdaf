"""Asks of an agent (permissions, questions, custom tool calls) and the answers to them."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

AskKind: TypeAlias = Literal["permission", "question", "tool"]
PermissionReply: TypeAlias = Literal["once", "always", "reject"]
PermissionDecision: TypeAlias = Literal["accept", "accept_for_session", "reject"]


class QuestionOption(Struct, frozen=True, kw_only=True, omit_defaults=True):
    label: str
    description: str | None = None


class Question(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer may be free text that matches no option."""

    prompt: str
    header: str | None = None
    options: list[QuestionOption] = []
    multi_select: bool = False


class PermissionAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="permission"):
    """`message` is the reason that the agent gets with a `reject`."""

    reply: PermissionReply
    message: str | None = None


class QuestionAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="question"):
    """One list of chosen labels or free texts per question, in order; None if the questions were rejected."""

    answers: list[list[str]] | None
    message: str | None = None


class ToolImage(Struct, frozen=True, kw_only=True):
    """`data` is base64."""

    mime: str
    data: str


class ToolAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="tool"):
    """The result of a custom tool; `output` is None if the call was abandoned.

    `images` are passed to the waiting agent only, and are not part of the event.
    """

    output: str | None
    is_error: bool = False
    images: list[ToolImage] = []


class AskTimeout(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The daemon answers a permission or a question that nobody answers within so many `seconds`.

    `permission` is its answer to a permission: `deny`, or `allow` once. `question` is a text that answers every
    question; without it questions are skipped. Calls of custom tools have no deadline.
    """

    seconds: Annotated[float, Meta(gt=0, le=366 * 86400)]
    permission: Literal["deny", "allow"] = "deny"
    question: Annotated[str, Meta(min_length=1, max_length=10_000)] | None = None


Answer: TypeAlias = PermissionAnswer | QuestionAnswer | ToolAnswer
