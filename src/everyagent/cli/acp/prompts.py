"""Reads what an editor hands over: prompts of several content blocks, and MCP servers. Pure."""

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import unquote

from everyagent.cli.acp.wire import ContentBlock, OfferedServer, Resource
from everyagent.model.sessions import Attachment
from everyagent.model.tools import McpLocal, McpRemote, McpServer


class PromptMessage(NamedTuple):
    text: str
    attachments: list[Attachment]


def message_of(blocks: Sequence[ContentBlock]) -> PromptMessage:
    """One message. Links stay in the text as paths; quoted resources follow it."""
    text: list[str] = []
    quoted: list[str] = []
    attachments: list[Attachment] = []
    for block in blocks:
        match block.type:
            case "text":
                text.append(block.text)
            case "image" | "audio":
                attachments.append(Attachment(data=block.data, mime=block.mime_type, filename=_name(block.uri)))
            case "resource_link":
                text.append(f"@{_path(block.uri) or block.uri or block.name}")
            case "resource" if block.resource:
                _embed(block.resource, text, quoted, attachments)
            case _:
                text.append(f"[content of type {block.type}, which is not supported]")
    return PromptMessage("".join([*text, *quoted]), attachments)


def servers_of(offered: Sequence[OfferedServer]) -> dict[str, McpServer]:
    return {each.name: _server(each) for each in offered}


def _server(offered: OfferedServer) -> McpServer:
    if offered.type in ("http", "sse"):
        headers = {header.name: header.value for header in offered.headers}
        return McpRemote(url=offered.url, headers=headers, transport="sse" if offered.type == "sse" else "http")
    variables = {variable.name: variable.value for variable in offered.env}
    return McpLocal(command=[offered.command, *offered.args], env=variables)


def _embed(resource: Resource, text: list[str], quoted: list[str], attachments: list[Attachment]) -> None:
    where = _path(resource.uri) or resource.uri
    if resource.text is not None:
        text.append(f"@{where}")
        quoted.append(f'\n<context ref="{where}">\n{resource.text}\n</context>')
    elif resource.blob is not None:
        attachments.append(Attachment(data=resource.blob, mime=resource.mime_type, filename=_name(resource.uri)))


def _path(uri: str) -> str | None:
    """The path of a file: URI; None for any other."""
    return unquote(uri.removeprefix("file://")) if uri.startswith("file://") else None


def _name(uri: str) -> str | None:
    return unquote(uri).rpartition("/")[2] or None
