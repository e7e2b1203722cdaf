"""Types of the app-server's requests to us, as far as we read them: decode only. Used by `asks.py`."""

from msgspec import Struct, field

from everyagent.model.parts import Json


class CodexRequest(Struct, frozen=True, rename="camel", gc=False):
    """Native names are camelCase."""


class CommandApproval(CodexRequest, frozen=True):
    item_id: str = ""
    kind: str = "command"
    command: str | None = None
    cwd: str | None = None
    reason: str | None = None
    proposed_execpolicy_amendment: list[str] | None = None
    network_approval_context: dict[str, object] | None = None
    additional_permissions: dict[str, object] | None = None


class FileApproval(CodexRequest, frozen=True):
    item_id: str = ""
    reason: str | None = None
    grant_root: str | None = None


class PermissionsApproval(CodexRequest, frozen=True):
    item_id: str = ""
    cwd: str | None = None
    reason: str | None = None
    permissions: dict[str, object] = {}


class OldCommandApproval(CodexRequest, frozen=True):
    call_id: str = ""
    command: list[str] = []
    cwd: str | None = None
    reason: str | None = None


class OldPatchApproval(CodexRequest, frozen=True):
    call_id: str = ""
    file_changes: dict[str, object] = {}
    reason: str | None = None


class CodexOption(CodexRequest, frozen=True):
    label: str
    description: str | None = None


class UserQuestion(CodexRequest, frozen=True):
    id: str
    question: str = ""
    header: str | None = None
    options: list[CodexOption] | None = None


class UserInput(CodexRequest, frozen=True):
    item_id: str = ""
    questions: list[UserQuestion] = []


class FormField(CodexRequest, frozen=True):
    type: str | None = None
    title: str | None = None
    description: str | None = None
    enum: list[str] | None = None
    enum_names: list[str] | None = None


class FormSchema(CodexRequest, frozen=True):
    properties: dict[str, FormField] = {}


class ElicitationMeta(CodexRequest, frozen=True):
    approval_kind: str | None = field(default=None, name="codex_approval_kind")
    tool_params: Json = field(default=None, name="tool_params")
    tool_description: str | None = field(default=None, name="tool_description")
    tool_name: str | None = field(default=None, name="tool_name")


class CodexElicitation(CodexRequest, frozen=True):
    server_name: str = ""
    mode: str = "form"
    message: str = ""
    url: str | None = None
    requested_schema: FormSchema | None = None
    meta: ElicitationMeta | None = field(default=None, name="_meta")
