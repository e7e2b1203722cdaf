"""Content blocks of the Managed Agents API, in requests and responses. Unknown fields are ignored."""

from typing import TypeAlias

from msgspec import Struct


class Text(Struct, frozen=True, kw_only=True, tag_field="type", tag="text"):
    text: str


class Redacted(Struct, frozen=True, kw_only=True, tag_field="type", tag="redacted"):
    pass


class Base64Source(Struct, frozen=True, kw_only=True, tag_field="type", tag="base64"):
    media_type: str
    data: str


class PlainTextSource(Struct, frozen=True, kw_only=True, tag_field="type", tag="text"):
    data: str
    media_type: str = "text/plain"


class UrlSource(Struct, frozen=True, kw_only=True, tag_field="type", tag="url"):
    url: str


class FileSource(Struct, frozen=True, kw_only=True, tag_field="type", tag="file"):
    file_id: str


ImageSource: TypeAlias = Base64Source | UrlSource | FileSource
DocumentSource: TypeAlias = Base64Source | PlainTextSource | UrlSource | FileSource


class Image(Struct, frozen=True, kw_only=True, tag_field="type", tag="image"):
    source: ImageSource


class Citations(Struct, frozen=True, kw_only=True):
    """Kept as it came: no agent is told to cite."""

    enabled: bool


class DocumentBlock(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="document"):
    source: DocumentSource
    title: str | None = None
    context: str | None = None
    citations: Citations | None = None


class SearchResult(Struct, frozen=True, kw_only=True, tag_field="type", tag="search_result"):
    source: str
    title: str
    content: list[Text]
    citations: Citations


MessageBlock: TypeAlias = Text | Image | DocumentBlock | Redacted
ResultBlock: TypeAlias = Text | Image | DocumentBlock | SearchResult
