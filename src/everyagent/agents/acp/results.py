"""Decodes the results of tool calls: output, exit code, files, images. Pure; used by `calls.py`."""

from collections.abc import Sequence

import msgspec
from msgspec import Raw, Struct

from everyagent.agents import diffs
from everyagent.agents.acp.wire import AcpContent, AcpLocation, AcpResource, CallContent
from everyagent.agents.acp.wire_meta import RawOutput
from everyagent.model.parts import ContentPart, FileRefPart, ImagePart, JsonPart, TextPart

#: Longer texts are not compared line by line, which would take too long.
COMPARED_CHARS = 64 * 1024
_READING = frozenset({"read", "search"})

_outputs = msgspec.json.Decoder(RawOutput)
_anything = msgspec.json.Decoder()


class CallOutput(Struct, frozen=True):
    """`stderr` is the part of the text that the agent reports as such."""

    text: str = ""
    exit_code: int | None = None
    others: list[ContentPart] = []
    stderr: str | None = None


def output(content: Sequence[CallContent], raw: Raw, live: str) -> CallOutput:
    """The first of: text in the content, the result object's own text, what was streamed before."""
    own, plain = _own(raw)
    texts = [text for each in content if each.content and (text := text_of(each.content))]
    text = "\n".join(texts) or _words(own) or plain or live
    apart = own.stderr if own.stderr and own.stderr.strip() in text else None
    return CallOutput(text, _exit_code(own), [*_others(content), *_own_images(own)], apart)


def files(
    content: Sequence[CallContent], locations: Sequence[AcpLocation], kind: str | None, raw: Raw
) -> list[ContentPart]:
    """The files that a call read or changed, with unified diffs. A diff of the agent's own is not changed."""
    changes = [each for each in content if each.type == "diff" and each.path]
    own = _unified(_own(raw)[0]) if kind not in _READING else None
    parts: list[ContentPart] = [
        FileRefPart(path=each.path, action="patch" if each.old_text else "write", diff=own or _diff(each))
        for each in changes[-1:]
    ]
    parts[:0] = [
        FileRefPart(path=each.path, action="patch" if each.old_text else "write", diff=_diff(each))
        for each in changes[:-1]
    ]
    known = {each.path for each in changes}
    if kind in ("read", "edit", "delete", "move"):
        action = "read" if kind == "read" else "write"
        places = dict.fromkeys(each.path for each in locations if each.path and each.path not in known)
        parts += [FileRefPart(path=path, action=action, diff=own if not known else None) for path in places]
    return parts


def text_of(content: AcpContent) -> str:
    if content.resource and content.resource.text is not None:
        return content.resource.text
    return content.text


def part_of(content: AcpContent) -> ContentPart:
    """A content block of a message or a result. The data of a resource is kept; its text has a place of its own."""
    resource = content.resource or AcpResource()
    match content.type:
        case "text":
            return TextPart(text=content.text)
        case "image":
            return ImagePart(path=content.uri or "image", mime=content.mime_type, data=content.data)
        case "resource" if resource.blob is not None:
            return JsonPart(
                json={"type": "resource", "uri": resource.uri, "mimeType": resource.mime_type, "data": resource.blob}
            )
        case "resource_link" | "resource":
            uri = content.uri or resource.uri
            return FileRefPart(path=uri.removeprefix("file://") or content.name or "resource", action="read")
        case _:
            return JsonPart(json={"type": content.type, "mimeType": content.mime_type, "data": content.data})


def _own(raw: Raw) -> tuple[RawOutput, str]:
    """The tool's result object, and its text if it is only text."""
    body = bytes(raw)
    if body == b"null":
        return RawOutput(), ""
    if body.startswith(b'"'):
        return RawOutput(), msgspec.json.decode(body, type=str)
    try:
        return _outputs.decode(body), ""
    except msgspec.ValidationError:
        return RawOutput(), body.decode()


def _words(own: RawOutput) -> str:
    if isinstance(own.content, list):
        return "\n".join(each.text for each in own.content if each.text)
    return own.content or own.output or "\n".join(filter(None, (own.stdout, own.stderr))) or own.message or ""


def _exit_code(own: RawOutput) -> int | None:
    codes = [own.exit_code, own.exit_code_snake, own.metadata.exit if own.metadata else None]
    codes += [each.exit_code for each in own.contents or []]
    return next((code for code in codes if code is not None), None)


def _others(content: Sequence[CallContent]) -> list[ContentPart]:
    """Everything but text."""
    blocks = [each.content for each in content if each.content]
    return [part_of(block) for block in blocks if block.type != "text" and not text_of(block)]


def _own_images(own: RawOutput) -> list[ImagePart]:
    return [
        ImagePart(path="image", mime=each.mime_type, data=each.data)
        for each in own.contents or []
        if each.type == "image" and each.data
    ]


def _unified(own: RawOutput) -> str | None:
    for text in (own.file_diff, own.detailed_content):
        if text and "\n@@ " in text and "\n--- " in f"\n{text}":
            return text.lstrip("\n")
    return None


def _diff(change: CallContent) -> str:
    before, after = change.old_text or "", change.new_text
    if not before:
        return diffs.created(change.path, after)
    if len(before) + len(after) > COMPARED_CHARS:
        return diffs.replaced(change.path, before, after)
    return diffs.changed(change.path, before, after)
