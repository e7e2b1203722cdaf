"""What the app-server asks of us, as far as we read it: decode only, like `wire.py`. Used by `asks.py`."""

from msgspec import Struct, field

from everyagent.model.parts import Json


class Asked(Struct, frozen=True, rename="camel", gc=False):
    """Native names are camelCase."""


class CommandApproval(Asked, frozen=True):
    item_id: str = ""
    kind: str = "command"
    command: str | None = None
    cwd: str | None = None
    reason: str | None = None
    proposed_execpolicy_amendment: list[str] | None = None
    network_approval_context: dict[str, object] | None = None
    additional_permissions: dict[str, object] | None = None


class FileApproval(Asked, frozen=True):
    item_id: str = ""
    reason: str | None = None
    grant_root: str | None = None


class PermissionsApproval(Asked, frozen=True):
    item_id: str = ""
    cwd: str | None = None
    reason: str | None = None
    permissions: dict[str, object] = {}


class OldCommandApproval(Asked, frozen=True):
    call_id: str = ""
    command: list[str] = []
    cwd: str | None = None
    reason: str | None = None


class OldPatchApproval(Asked, frozen=True):
    call_id: str = ""
    file_changes: dict[str, object] = {}
    reason: str | None = None


class Option(Asked, frozen=True):
    label: str
    description: str | None = None


class UserQuestion(Asked, frozen=True):
    id: str
    question: str = ""
    header: str | None = None
    options: list[Option] | None = None


class UserInput(Asked, frozen=True):
    item_id: str = ""
    questions: list[UserQuestion] = []


class SchemaProperty(Asked, frozen=True):
    type: str | None = None
    title: str | None = None
    description: str | None = None
    enum: list[str] | None = None
    enum_names: list[str] | None = None


class Schema(Asked, frozen=True):
    properties: dict[str, SchemaProperty] = {}


class ElicitationMeta(Asked, frozen=True):
    approval_kind: str | None = field(default=None, name="codex_approval_kind")
    tool_params: Json = field(default=None, name="tool_params")
    tool_description: str | None = field(default=None, name="tool_description")
    tool_name: str | None = field(default=None, name="tool_name")


class Elicitation(Asked, frozen=True):
    server_name: str = ""
    mode: str = "form"
    message: str = ""
    url: str | None = None
    requested_schema: Schema | None = None
    meta: ElicitationMeta | None = field(default=None, name="_meta")
