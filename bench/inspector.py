"""The inspector in Chromium: opening a long session, scrolling, and following a flood."""

import gzip
from collections.abc import Generator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright
from tests.inspector.browser import NoBrowser, browser

from bench.figure import Figure, Standard, Unmeasured
from bench.machine import load_average
from bench.plan import Plan
from bench.served import folder
from everyagent.api import ui
from everyagent.client import Client
from everyagent.testing.daemon import TOKEN, DaemonProcess

OPEN = Standard(bar=1000, goal=500, best="low")
SCROLL = Standard(bar=50, goal=58, best="high")
FREEZE = Standard(bar=250, goal=100, best="low")
SCRIPT = Standard(bar=200, goal=120, best="low")

EVENTS = 100_000
#: Each step is a message and a tool call, about 17 events; the rest are deltas of long messages.
STEPS = 3_000
RATE = 2_000
SCROLL_SECONDS = 3.0
LIMIT_MS = 60_000

_WHEN_PAINTED = """
new MutationObserver((_, watch) => {
    if (!document.querySelector(".entry")) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.painted = performance.now(); }));
}).observe(document, { childList: true, subtree: true });
"""
_SCROLL = """milliseconds => new Promise(done => {
    const log = document.querySelector(".conversation");
    const began = performance.now();
    let frames = 0;
    const step = now => {
        frames += 1;
        log.scrollTop -= 60;
        if (now - began < milliseconds) requestAnimationFrame(step);
        else done(frames / (now - began) * 1000);
    };
    requestAnimationFrame(step);
})"""
_LONGEST_FRAME = """() => {
    window.longest = 0;
    let last = performance.now();
    const step = now => {
        window.longest = Math.max(window.longest, now - last);
        last = now;
        requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
}"""


def measure(plan: Plan) -> list[Figure]:
    opened: list[float] = []
    rates: list[float] = []
    longest: list[float] = []
    with _daemon() as (client, url), _chromium() as chromium:
        events = _long_session(client)
        for number in range(plan.repeats):
            context = chromium.new_context(viewport={"width": 1280, "height": 860})
            page = context.new_page()
            page.set_default_timeout(LIMIT_MS)
            page.add_init_script(_WHEN_PAINTED)
            opened.append(_open(page, f"{url}/ui/#token={TOKEN}&to=/session/long"))
            rates.append(page.evaluate(_SCROLL, SCROLL_SECONDS * 1000))
            longest.append(_flooded(page, client, f"flooded-{number}"))
            context.close()
    load = load_average()
    return [
        Figure(
            what=f"inspector: a session of {events:,} events, first paint",
            unit="ms",
            samples=opened,
            load=load,
            standard=OPEN,
            note="from the navigation, nothing cached",
        ),
        Figure(what="inspector: scrolling through it", unit="frames/s", samples=rates, load=load, standard=SCROLL),
        Figure(
            what=f"inspector: longest frame at {RATE:,} deltas/s",
            unit="ms",
            samples=longest,
            load=load,
            standard=FREEZE,
            note="3 s of it",
        ),
        Figure(
            what="inspector: script, compressed",
            unit="KB",
            samples=[_script_size() / 1000],
            load=load,
            standard=SCRIPT,
            note="gzip, all chunks",
        ),
    ]


def _open(page: Page, url: str) -> float:
    page.goto(url)
    page.wait_for_function("() => window.painted")
    return page.evaluate("() => window.painted")


def _flooded(page: Page, client: Client, session: str) -> float:
    """The page shows the session during a flood. The last delta must arrive."""
    client.create(session, agent="mock", title=session)
    page.evaluate("to => { location.hash = to; }", f"#/session/{session}")
    page.wait_for_selector(".composer")
    page.evaluate(_LONGEST_FRAME)
    client.send(session, f"[flood events={3 * RATE} size=20 rate={RATE}]")
    page.wait_for_function("() => document.querySelector('.entry-turn')")
    longest: float = page.evaluate("() => window.longest")
    if f"{3 * RATE - 1:08d}" not in "".join(page.locator(".markdown").all_text_contents()):
        page.get_by_role("button", name="Show all").last.click()
        if f"{3 * RATE - 1:08d}" not in "".join(page.locator(".markdown").all_text_contents()):
            raise Unmeasured("the last delta is not on the page")
    return longest


def _long_session(client: Client) -> int:
    client.create("long", agent="mock", title="A long session")
    client.run_turn("long", " ".join(f"Step {n}. [tool name=look path=file{n}]" for n in range(STEPS)))
    events = client.session("long").event_count
    client.run_turn("long", f"[flood events={max(0, EVENTS - events)} size=100]")
    return client.session("long").event_count


def _script_size() -> int:
    scripts = list(ui.FILES.rglob("*.js"))
    if not scripts:
        raise Unmeasured("The inspector was not built: `make inspector`.")
    return sum(len(gzip.compress(script.read_bytes())) for script in scripts)


@contextmanager
def _daemon() -> Generator[tuple[Client, str]]:
    with folder() as path:
        process = DaemonProcess(path / "data")
        try:
            process.start()
            with Client(process.url, TOKEN, timeout=120) as client:
                yield client, process.url
        finally:
            process.stop()


@contextmanager
def _chromium() -> Generator[Browser]:
    try:
        path = browser()
    except NoBrowser as problem:
        raise Unmeasured(str(problem)) from problem
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()
