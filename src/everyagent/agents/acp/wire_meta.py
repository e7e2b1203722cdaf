"""Vendors' own data in ACP messages: `_meta` and `rawOutput`. Decode only; a shape that does not fit is ignored."""

from msgspec import Struct, field

from everyagent.agents.acp.wire import AcpUsage


class VendorOption(Struct, frozen=True):
    label: str = ""
    description: str | None = None


class VendorQuestion(Struct, frozen=True, rename="camel"):
    question: str = ""
    header: str | None = None
    options: list[VendorOption] = []
    multi_select: bool = False


class GooseToolCall(Struct, frozen=True, rename="camel"):
    tool_name: str | None = None


class GooseMeta(Struct, frozen=True, rename="camel"):
    tool_call: GooseToolCall | None = None


class LiveChunk(Struct, frozen=True):
    output: str = ""


class LiveOutput(Struct, frozen=True):
    chunks: list[LiveChunk] = []


class ToolNotification(Struct, frozen=True):
    type: str = ""
    params: LiveOutput = LiveOutput()


class TerminalOutput(Struct, frozen=True):
    data: str = ""


class TerminalExit(Struct, frozen=True):
    exit_code: int | None = None


class CopilotMeta(Struct, frozen=True, rename="camel"):
    agent_id: str | None = None


class CallMeta(Struct, frozen=True):
    """Tool names, live output and exit codes as Qwen, Vibe, Goose, pi and Copilot report them."""

    tool_name: str | None = field(default=None, name="toolName")
    tool_name_snake: str | None = field(default=None, name="tool_name")
    goose: GooseMeta | None = None
    notification: ToolNotification | None = field(default=None, name="toolNotification")
    terminal_output: TerminalOutput | None = None
    terminal_exit: TerminalExit | None = None
    questions: list[VendorQuestion] | None = field(default=None, name="qwenQuestions")
    copilot: CopilotMeta | None = field(default=None, name="github.com/copilot")


class ChunkMeta(Struct, frozen=True):
    usage: AcpUsage | None = None


class OutputContent(Struct, frozen=True, rename="camel"):
    type: str = ""
    text: str | None = None
    exit_code: int | None = None
    data: str | None = None
    mime_type: str | None = None


class OutputMetadata(Struct, frozen=True):
    exit: int | None = None


class RawOutput(Struct, frozen=True, rename="camel"):
    """The fields of a tool's own result object that agents agree on most."""

    content: str | list[OutputContent] | None = None
    output: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    message: str | None = None
    exit_code: int | None = None
    exit_code_snake: int | None = field(default=None, name="exit_code")
    contents: list[OutputContent] | None = None
    metadata: OutputMetadata | None = None
    detailed_content: str | None = None
    file_diff: str | None = None
