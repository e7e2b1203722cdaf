"""Asks: what an agent wants from a human (or a program in a human's place), and the answers."""

from typing import Literal, TypeAlias

from msgspec import Struct

AskKind: TypeAlias = Literal["permission", "question", "tool"]
PermissionReply: TypeAlias = Literal["once", "always", "reject"]


class QuestionOption(Struct, frozen=True, kw_only=True, omit_defaults=True):
    label: str
    description: str | None = None


class Question(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer may also be text that no option holds."""

    prompt: str
    header: str | None = None
    options: list[QuestionOption] = []
    multi_select: bool = False


class PermissionAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="permission"):
    """`message` tells the agent why, when the reply is `reject`."""

    reply: PermissionReply
    message: str | None = None


class QuestionAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="question"):
    """One list of chosen labels or free texts for each question, in order; None when rejected."""

    answers: list[list[str]] | None
    message: str | None = None


class ToolImage(Struct, frozen=True, kw_only=True):
    """`data` is base64."""

    mime: str
    data: str


class ToolAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="tool"):
    """What a custom tool of the session returned; `output` is None when the call was given up.

    `images` go to the agent that waits, and no further: the request that brought them has them.
    """

    output: str | None
    is_error: bool = False
    images: list[ToolImage] = []


Answer: TypeAlias = PermissionAnswer | QuestionAnswer | ToolAnswer
