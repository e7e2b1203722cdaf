"""Serving of the inspector's files: public, with strict headers, from a fixed list."""

import gzip
import re
from pathlib import Path

import pytest

from everyagent.api import ui
from tests.api.served import Served

PAGE = b'<script type="module" src="./assets/index-abc.js"></script>'


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = tmp_path / "inspector"
    (files / "assets").mkdir(parents=True)
    (files / "index.html").write_bytes(PAGE)
    (files / "index.html.gz").write_bytes(gzip.compress(PAGE))
    (files / "assets" / "index-abc.js").write_text("1")
    (files / "sources.sha256").write_text("0")
    (tmp_path / "secret.js").write_text("secret")
    monkeypatch.setattr(ui, "FILES", files)
    ui._names.cache_clear()
    return files


async def test_the_page_needs_no_token_and_carries_a_strict_policy(served: Served) -> None:
    page = await served.stranger.get("/ui/")
    assert (page.status_code, page.content) == (200, PAGE)
    assert page.headers["cache-control"] == "no-cache"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["referrer-policy"] == "no-referrer"
    policy = page.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} <= set(policy.split("; "))


async def test_the_root_redirects_to_the_inspector(served: Served) -> None:
    for path in ("/", "/ui"):
        response = await served.stranger.get(path)
        assert (response.status_code, response.headers["location"]) == (307, "/ui/")


async def test_hashed_files_are_cacheable_and_compressed(served: Served) -> None:
    script = await served.stranger.get("/ui/assets/index-abc.js")
    assert "immutable" in script.headers["cache-control"]
    assert script.headers["content-type"].startswith("text/javascript")
    page = await served.stranger.get("/ui/", headers={"accept-encoding": "gzip"})
    assert (page.headers["content-encoding"], page.content) == ("gzip", PAGE)
    plain = await served.stranger.get("/ui/", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers


@pytest.mark.parametrize(
    "path", ["x.js", "../secret.js", "..%2fsecret.js", "assets/", "sources.sha256", "index.html.gz"]
)
async def test_only_files_of_the_inspector_are_served(served: Served, path: str) -> None:
    response = await served.stranger.get(f"/ui/{path}")
    assert response.status_code == 404 or "/ui/" not in str(response.url)
    assert response.content != b"secret"


async def test_a_foreign_origin_cannot_load_the_inspector(served: Served) -> None:
    assert (await served.stranger.get("/ui/", headers={"host": "evil.example"})).status_code == 403
    assert (await served.stranger.get("/ui/", headers={"origin": "https://evil.example"})).status_code == 403
    assert (await served.stranger.post("/ui/")).status_code == 405


async def test_a_missing_inspector_is_an_error_that_says_how_to_build_it(served: Served, built: Path) -> None:
    (built / "index.html").unlink()
    response = await served.stranger.get("/ui/")
    assert (response.status_code, response.json()["code"]) == (503, "unavailable")
    assert re.search("make inspector", response.json()["detail"])
