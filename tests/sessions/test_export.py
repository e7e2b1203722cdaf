"""Exports to Markdown, HTML and JSON lines: complete, streamed, and safe for hostile text."""

from collections.abc import Iterator
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace

from everyagent.model.events import Event, EventData, ItemCompleted, PermissionRequested, SessionStarted
from everyagent.model.items import Item
from everyagent.model.parts import FileRefPart, ImagePart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from everyagent.model.sessions import SessionInfo
from everyagent.model.usage import Usage
from everyagent.sessions.history.export import ExportFormat, html, jsonl, markdown, open_export
from everyagent.sessions.history.export.containment import contained
from everyagent.testing.sample import sample_session, spoken, stamped

INFO = SessionInfo(
    session_id="sample",
    agent="mock",
    agent_mode="build",
    permission_mode="default",
    model="mock-1",
    variant=None,
    native_session_id="native-1",
    status="ended",
    ended=True,
    event_count=60,
    created_at=1_767_225_600_000,
    updated_at=1_767_225_600_000,
    directory="/srv/a|b",
    title="A *sample*",
    metadata={},
    env=[],
    mcp={},
    tools=[],
    system_prompt=None,
    usage=Usage(input_tokens=120, output_tokens=40),
    cost_usd=0.002,
    pending_asks=0,
    queued_messages=0,
    forked_from=None,
)
HOSTILE = (
    "</div></pre><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "```\n~~~\n````\n<script>",
    "` `` ``` `<b>`",
    "- a\n  ```\n<script>alert(1)</script>",
    "a ` b\nc ` <script>alert(1)</script>`",
    "| ` | <script> ` |\n|---|---|\n| ` | <script> ` |",
    "\x00\x1b[31mred\x1b[0m\x07\r\nnext\rlast\x7f",
    "\x1b]0;title\x07 &amp; \" '",
    "</details></summary></main>",
    "# heading\n***\n[x]: <script>",
)


def said(text: str, role: str = "assistant") -> Item:
    return Item(
        item_id="itm_said",
        native_item_id=None,
        parent_id=None,
        kind="message",
        role="user" if role == "user" else "assistant",
        status="completed",
        content=[TextPart(text=text)],
    )


def everywhere(text: str) -> list[Event]:
    """A session with this text in every field that holds text."""
    item = replace(
        said(text),
        name=text,
        content=[
            TextPart(text=text),
            ReasoningPart(text=text, visibility="public"),
            ToolCallPart(name=text, arguments=text, call_id="1", mcp_server=text),
            ToolResultPart(call_id="1", output=text, is_error=True),
            FileRefPart(path=text, action="patch", diff=text),
            ImagePart(path=text, mime=text, data=text),
        ],
        subagent="itm_parent",
        error=text,
        status="failed",
    )
    asked = PermissionRequested(permission_id="p", action=text, status="requested", input={text: text})
    return stamped([SessionStarted(), ItemCompleted(item=item), asked])


def test_markdown_reads_like_the_conversation():
    data: list[EventData] = [
        SessionStarted(),
        *spoken(said("Why is it **slow**?", "user")),
        *spoken(
            replace(
                said("Because of ```sleep```."),
                content=[
                    ReasoningPart(text="Hm.", visibility="public"),
                    ReasoningPart(text="encrypted", visibility="private"),
                    TextPart(text="Because of `sleep`."),
                ],
            )
        ),
    ]
    assert "".join(markdown.export(INFO, stamped(data))) == (
        "# A \\*sample\\*\n\n"
        "| | |\n|---|---|\n"
        "| Session | `sample` |\n| Agent | `mock` |\n| Model | `mock-1` |\n| Directory | `/srv/a\\|b` |\n"
        "| Created | `2026-01-01T00:00:00.000000Z` |\n| Status | `ended` |\n"
        "| Tokens | `160 (120 in, 40 out)` |\n| Cost | `0.0020 USD` |\n\n"
        "## User\n\nWhy is it **slow**?\n\n"
        "<details><summary>Reasoning</summary>\n\nHm.\n\n</details>\n\n"
        "## Assistant\n\nBecause of `sleep`.\n\n"
    )


@pytest.mark.parametrize("export", [markdown.export, html.export])
@pytest.mark.parametrize(
    "expected",
    [
        "Fix the failing test.",
        "/shots/failure.png",
        "The parser drops the last line.",
        "shell/bash",
        "make test",
        "1 failed",
        "exit code 1",
        "lines[:-1]",
        "git push",
        "denied",
        "Which colour?",
        "blue",
        "get_weather",
        "rain",
        "Compacted",
        "The model is overloaded. (attempt 1 of 3)",
        "warning: low memory",
        "unknown message type",
        "Session ended: terminated",
    ],
)
def test_every_event_is_exported(export, expected: str):
    assert expected in "".join(export(INFO, sample_session()))


def test_items_of_a_sub_agent_are_nested_in_markdown():
    text = "".join(markdown.export(INFO, sample_session()))
    assert "> **Tool** `shell/bash`\n>\n> ```json\n" in text


def test_items_of_a_sub_agent_are_nested_in_html():
    assert '<article class="called deep1">' in "".join(html.export(INFO, sample_session()))


def test_an_unanswered_question_is_exported_where_it_was_asked():
    asked = PermissionRequested(permission_id="p", action="rm", status="requested")
    text = "".join(markdown.export(INFO, stamped([SessionStarted(), asked, *spoken(said("later"))])))
    assert text.index("not answered") < text.index("later")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text_in_markdown(text: str):
    page = "".join(markdown.export(INFO, everywhere(text))) + "\n\n## Behind\n"
    assert html_in(page) <= {"<details><summary>Reasoning</summary>", "</details>"}
    assert not any(character in page for character in "\x00\x07\x1b\r\x7f")
    assert "Behind" in headings(page)


TICKS = ("`", "``", "```", "~~~", "````")
TAGS = ("<script>", "</p>", "<!--", "<?x", "<a@b.c>", "<", ">")
BLOCKS = ("|", "|---|", "#", "-", "> ", "1. ", "***", "===", "[a]", ": ", "(b)")
SPACE = (" ", "  ", "    ", "\t", "\n", "\n", "\n\n")
hostile_pieces = st.sampled_from([*TICKS, *TAGS, *BLOCKS, *SPACE, "\\", "word"])


@given(st.lists(hostile_pieces, max_size=24).map("".join))
def test_markdown_neither_becomes_a_tag_nor_hides_the_text_after_it(text: str):
    page = contained(text) + "\n\n## Behind\n"
    assert html_in(page) == set()
    assert "Behind" in headings(page)


@pytest.mark.parametrize(
    "text", ["see `<b>` here", "``a ` <c>`` and `<b>`", "```html\n<b>\n```", "~~~~\n<b>\n~~~\n~~~~", "a < b && c<3"]
)
def test_code_and_comparisons_in_markdown_stay_as_they_were_written(text: str):
    assert contained(text) == text


def markdown_tokens(page: str) -> Iterator[tuple[str, str]]:
    for token in MarkdownIt("commonmark").enable("table").parse(page):
        yield token.type, token.content
        for child in token.children or []:
            yield child.type, child.content


def html_in(page: str) -> set[str]:
    return {content.strip() for kind, content in markdown_tokens(page) if kind in ("html_block", "html_inline")}


def headings(page: str) -> set[str]:
    """The top-level headings, without those in lists, quotes and fences."""
    tokens = MarkdownIt("commonmark").enable("table").parse(page)
    return {tokens[i + 1].content for i, token in enumerate(tokens) if token.type == "heading_open" and not token.level}


class Page(HTMLParser):
    """Parses a page, checks that every tag is closed, and collects tags and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text_in_html(text: str):
    text_page = "".join(html.export(replace(INFO, title=text, directory=text), everywhere(text)))
    page = Page(text_page)
    assert page.tags <= {
        *("html", "head", "meta", "title", "style", "body", "header", "h1", "dl", "dt", "dd", "main", "article"),
        *("time", "h2", "h3", "div", "pre", "code", "details", "summary", "b", "ins", "del", "span"),
    }
    assert page.attributes <= {"lang", "charset", "name", "content", "http-equiv", "class", "datetime", "title", "open"}
    assert not any(character in text_page for character in "\x00\x07\x1b\r\x7f")


@given(st.text())
def test_any_text_makes_a_well_formed_page(text: str):
    Page("".join(html.export(INFO, everywhere(text))))


def test_html_colours_diffs_folds_reasoning_and_loads_nothing():
    page = "".join(html.export(INFO, sample_session()))
    assert "<del>-lines[:-1]\n</del><ins>+lines\n</ins>" in page
    assert "<details><summary>Reasoning</summary>" in page
    assert "prefers-color-scheme: dark" in page
    assert "default-src 'none'" in page
    assert "http://" not in page
    assert "https://" not in page


def test_html_shows_an_image_that_came_with_its_bytes():
    item = replace(said(""), content=[ImagePart(path="a.png", mime="image/png", data="iVBORw0KGgo=")])
    page = "".join(html.export(INFO, stamped([ItemCompleted(item=item)])))
    assert '<img src="data:image/png;base64,iVBORw0KGgo=" alt="">' in page


def test_html_embeds_only_images():
    item = replace(said(""), content=[ImagePart(path="a.svg", mime="image/svg+xml", data="PHN2Zz4=")])
    assert "<img" not in "".join(html.export(INFO, stamped([ItemCompleted(item=item)])))


def test_jsonl_is_the_stored_bytes_line_by_line():
    bodies = [msgspec.json.encode(event) for event in sample_session()]
    assert b"".join(jsonl.export(INFO, bodies)) == b"\n".join(bodies) + b"\n"


@pytest.mark.parametrize("format", ["markdown", "html", "jsonl"])
def test_an_export_from_stored_bytes_is_the_same_as_from_events(format: ExportFormat):
    export = open_export(format, INFO)
    events = [event for event in sample_session() if not export.types or event.type in export.types]
    made = export.opening() + b"".join(export.event(msgspec.json.encode(event)) for event in events) + export.closing()
    match format:
        case "markdown":
            assert made.decode() == "".join(markdown.export(INFO, sample_session()))
        case "html":
            assert made.decode() == "".join(html.export(INFO, sample_session()))
        case "jsonl":
            assert made == b"".join(jsonl.export(INFO, map(msgspec.json.encode, sample_session())))


@pytest.mark.parametrize("format", ["markdown", "html"])
def test_an_unknown_part_or_event_is_exported_as_json(format: ExportFormat):
    export = open_export(format, INFO)
    [event] = stamped([ItemCompleted(item=said("a hologram"))])
    body = msgspec.json.encode(event)
    assert b"a hologram" in export.event(body.replace(b'"type":"text"', b'"type":"hologram"'))
    assert b"item.dreamt" in export.event(body.replace(b"item.completed", b"item.dreamt"))


def test_an_export_is_made_event_by_event():
    taken: list[int] = []

    def events() -> Iterator[Event]:
        for event in stamped([ItemCompleted(item=said(f"number {n}")) for n in range(100)]):
            taken.append(event.sequence)
            yield event

    pieces = markdown.export(INFO, events())
    next(pieces)
    assert taken == []
    assert "number 0" in next(pieces)
    assert taken == [1]
