"""Schemas of the agent toolset, for sessions whose client runs the tools on its own machine."""

from everyagent.model.parts import Json, Object
from everyagent.model.tools import CustomTool

_TEXT: Object = {"type": "string"}


def _tool(name: str, description: str, properties: Object, required: list[str]) -> CustomTool:
    wanted: list[object] = [*required]
    schema: dict[str, Json] = {"type": "object", "properties": properties, "required": wanted}
    return CustomTool(name=name, description=description, input_schema=schema)


#: The tools that workers can run: all except the web tools.
TOOLSET_SCHEMAS: dict[str, CustomTool] = {
    tool.name: tool
    for tool in (
        _tool(
            "bash",
            "Run a command in the shell of the machine you work on. The shell keeps its state between calls.",
            {"command": _TEXT, "restart": {"type": "boolean"}, "timeout_ms": {"type": "integer"}},
            [],
        ),
        _tool(
            "read",
            "Read a file. `view_range` is the first and the last line to show.",
            {"file_path": _TEXT, "view_range": {"type": "array", "items": {"type": "integer"}}},
            ["file_path"],
        ),
        _tool("write", "Write a file, whole.", {"file_path": _TEXT, "content": _TEXT}, ["file_path", "content"]),
        _tool(
            "edit",
            "Replace text in a file. `old_string` must be in it once, unless `replace_all` is true.",
            {"file_path": _TEXT, "old_string": _TEXT, "new_string": _TEXT, "replace_all": {"type": "boolean"}},
            ["file_path", "old_string", "new_string"],
        ),
        _tool("glob", "Find files by a pattern.", {"pattern": _TEXT, "path": _TEXT}, ["pattern"]),
        _tool("grep", "Search in files by a regular expression.", {"pattern": _TEXT, "path": _TEXT}, ["pattern"]),
    )
}
