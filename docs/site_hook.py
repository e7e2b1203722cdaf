"""For the site: the README is its first page, and links to files outside of `docs/` become text."""

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_DOCS = Path(__file__).parent
_README = _DOCS.parent / "README.md"
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    files.append(File.generated(config, "index.md", content=_README.read_text()))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    source = _README if page.file.src_uri == "index.md" else _DOCS / page.file.src_uri
    text = _LINK.sub(lambda link: _link(link, source.parent, page), markdown)
    return text.replace("](docs/", "](") if source == _README else text


def _link(link: re.Match[str], folder: Path, page: Page) -> str:
    text, target = link.groups()
    path, mark, anchor = target.partition("#")
    if re.match(r"[a-z]+:", target) or not path:
        return link[0]
    found = (folder / path).resolve()
    up = "../" * page.file.src_uri.count("/")
    if found == _README:
        return f"[{text}]({up}index.md{mark}{anchor})"
    if not found.is_relative_to(_DOCS) or found.is_dir():
        return text
    return f"[{text}]({up}{found.relative_to(_DOCS).as_posix()}{mark}{anchor})"
