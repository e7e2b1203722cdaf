"""Hostile output of agents is shown as text: it runs no script, loads nothing and stays in its place."""

import pytest
from playwright.async_api import Dialog, Request, expect

from tests.inspector.page_driver import Daemon, Inspector

ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)></svg>",
    "[link](javascript:alert(1))",
    "[link](JaVaScRiPt:alert(1))",
    "[link](data:text/html,<script>alert(1)</script>)",
    "![picture](https://tracker.example/pixel.png)",
    "![picture](javascript:alert(1))",
    '<a href="https://x.example" onclick="alert(1)" style="position:fixed;inset:0">all of it</a>',
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    '<form action="https://x.example"><input name=a><button>go</button></form>',
    "<style>body{display:none}</style>",
    '<math><mtext><table><mglyph><style><img src=x onerror="alert(1)">',
    "```html\n<script>alert(1)</script>\n```",
    "`<img src=x onerror=alert(1)>`",
    "| <img src=x onerror=alert(1)> |\n|---|\n| <script>alert(1)</script> |",
    "[x]: javascript:alert(1)\n\n[x]",
]


@pytest.fixture
def watched(inspector: Inspector) -> Inspector:
    """An inspector whose test fails on requests to other hosts and on dialogs."""
    page = inspector.page

    async def opened(dialog: Dialog) -> None:
        inspector.faults.append(f"a dialog: {dialog.message}")
        await dialog.dismiss()

    def asked(request: Request) -> None:
        if not request.url.startswith((inspector.daemon.url, "blob:")):
            inspector.faults.append(f"a request to {request.url}")

    page.on("dialog", opened)
    page.on("request", asked)
    return inspector


FOREIGN = ".entry :is(script, iframe, style, form:not(.ask), svg[onload])"
ATTRIBUTES = """() => [...document.querySelectorAll('.entry *')].flatMap(element => [...element.attributes])
    .filter(each => each.name.startsWith('on') || /javascript:/i.test(each.value)).map(each => each.name)"""
LINKS = "() => [...document.querySelectorAll('.markdown a')].map(link => link.protocol + link.rel)"


async def nothing_happened(tab: Inspector) -> None:
    assert await tab.page.locator(FOREIGN).count() == 0
    assert await tab.page.evaluate(ATTRIBUTES) == []
    assert set(await tab.page.evaluate(LINKS)) <= {"https:noopener noreferrer nofollow"}


@pytest.mark.parametrize("attack", ATTACKS)
async def test_html_in_markdown_is_not_rendered(watched: Inspector, daemon: Daemon, attack: str) -> None:
    session = daemon.session("Markup")
    daemon.turn(session, f"before {attack}\n\nafter it")
    await watched.open(session)
    await expect(watched.page.locator(".message.assistant")).to_contain_text("after it")
    await nothing_happened(watched)


async def test_a_title_a_tool_and_its_output_are_text(watched: Inspector, daemon: Daemon) -> None:
    evil = "<img src=x onerror=alert(1)>"
    session = daemon.session(f"Title {evil}")
    tools = f'[tool name=bash command="echo \'{evil}\'"] [tool name="x{evil}" path="{evil}"]'
    daemon.turn(session, tools)
    await watched.open(session)
    await expect(watched.page.get_by_role("heading", level=1)).to_have_text(f"Title {evil}")
    folds = watched.page.locator(".tool .fold")
    await expect(folds).to_have_count(2)
    for fold in await folds.all():
        await fold.click()
    await expect(watched.page.locator(".output").first).to_contain_text(evil)
    await nothing_happened(watched)
    await watched.go("#/session/" + session + "/events")
    await expect(watched.page.get_by_role("table", name="Events")).to_contain_text("onerror")
    assert await watched.page.locator(".event-row img").count() == 0


async def test_terminal_escapes_change_only_colours(watched: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Terminal")
    title, clear, link = (
        r"\\033]0;pwned\\007",
        r"\\033[2J",
        r"\\033]8;;javascript:alert(1)\\033\\\\link\\033]8;;\\033\\\\",
    )
    command = rf"printf '{title}{clear}\\033[31mred\\033[8mhidden\\033[0m{link} end'"
    daemon.turn(session, f'[tool name=bash command="{command}"]')
    await watched.open(session)
    await watched.page.locator(".tool .fold").click()
    await expect(watched.page.locator(".output pre")).to_have_text("redhiddenlink end")
    await expect(watched.page).not_to_have_title("pwned")
    await nothing_happened(watched)


async def test_a_question_with_markup_stays_a_question(watched: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Asks", tools=[{"name": "x", "description": "<script>alert(1)</script>"}])
    daemon.send(session, "[ask command=\"echo '<script>alert(1)</script>'\"]")
    await watched.go("#/inbox")
    card = watched.page.locator("[data-ask]")
    await expect(card.locator("pre").first).to_contain_text("<script>alert(1)</script>")
    assert await watched.page.locator(".ask script").count() == 0
    await card.get_by_role("button", name="Allow once").click()
    await expect(card).to_have_count(0)


async def test_an_id_in_the_address_cannot_break_out(watched: Inspector, daemon: Daemon) -> None:
    watched.tolerated += ["status of 40[04]", "Failed to load"]
    await watched.go("#/session/..%2F..%2Fagents")
    await expect(watched.page.get_by_text("This session is gone")).to_be_visible()
    await watched.go("#/session/%3Cimg%20src=x%20onerror=alert(1)%3E/events?at=-5")
    await expect(watched.page.get_by_text("This session is gone")).to_be_visible()
    assert await watched.page.locator("main img").count() == 0
