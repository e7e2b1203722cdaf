"""Signing in to the inspector with a real OpenID provider."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.async_api import BrowserContext, expect

from everyagent.testing.daemon import NO_TLS, DaemonProcess
from tests.inspector.oidc_process import CLIENT_ID, CLIENT_SECRET, OidcProcess
from tests.inspector.page_driver import LIMIT_SECONDS, Daemon, Inspector

CONFIG = """
[oidc]
issuer = "{issuer}"
client-id = "{client}"
client-secret-file = "{secret}"
name = "Example"

[[oidc.grants]]
claim = "email"
value = "root@example.com"
workspace = "ops"
scopes = ["admin"]

[[oidc.grants]]
claim = "groups"
value = "design"
workspace = "design"
scopes = ["read", "run"]
"""


@pytest.fixture(scope="module")
def daemon(built: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon whose users sign in with a provider."""
    folder = tmp_path_factory.mktemp("oidc")
    provider = OidcProcess()
    (folder / "secret").write_text(CLIENT_SECRET)
    config = CONFIG.format(issuer=provider.issuer, client=CLIENT_ID, secret=folder / "secret")
    (folder / "config.toml").write_text(config)
    process = DaemonProcess(folder / "data", environment={"EVERYAGENT_CONFIG": str(folder / "config.toml")})
    try:
        process.start()
        provider.serve(f"{process.url}/ui/oidc/callback")
        yield Daemon(process, folder)
    finally:
        process.stop()
        provider.stop()


async def sign_in(context: BrowserContext, daemon: Daemon, user: str) -> Inspector:
    """From the page to the provider and back."""
    tab = Inspector(await context.new_page(), daemon)
    await tab.page.goto(f"{daemon.url}/ui/")
    await tab.page.get_by_role("link", name="Sign in with Example").click()
    await tab.page.locator("input[name=login]").fill(user)
    await tab.page.locator("input[name=password]").fill("any")
    await tab.page.locator("button[type=submit]").click()
    await tab.page.get_by_role("button", name="Continue").click()
    await tab.page.wait_for_url(f"{daemon.url}/ui/**")
    return tab


async def session_cookies(context: BrowserContext) -> list[dict[str, object]]:
    return [dict(each) for each in await context.cookies() if each.get("name") == "everyagent_session"]


async def test_a_user_signs_in_works_and_signs_out(context: BrowserContext, daemon: Daemon) -> None:
    tab = await sign_in(context, daemon, "alice-design")
    me = tab.page.get_by_label("Signed in as")
    await expect(me).to_contain_text("alice-design@example.com")
    await expect(me).to_contain_text("design · read, run")
    await expect(tab.page.get_by_role("link", name="Keys")).to_have_count(0)
    (cookie,) = await session_cookies(context)
    secret = str(cookie["value"])
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/")
    seen = await tab.page.evaluate("() => document.cookie + JSON.stringify(localStorage) + location.href")
    assert secret not in seen
    await tab.page.reload()
    await expect(me).to_contain_text("alice-design@example.com")

    def as_alice(**headers: str) -> int:
        named = {"cookie": f"everyagent_session={secret}", **headers}
        path = f"{daemon.url}/v1/sessions"
        return httpx2.get(path, headers=named, timeout=LIMIT_SECONDS, verify=NO_TLS).status_code

    assert as_alice() == 200
    assert as_alice(**{"sec-fetch-site": "same-origin"}) == 200
    assert as_alice(**{"sec-fetch-site": "same-site"}) == 401
    assert as_alice(**{"sec-fetch-site": "cross-site"}) == 401
    assert as_alice(authorization="Bearer wrong") == 401
    await tab.page.get_by_role("button", name="Sign out").click()
    await expect(tab.page.get_by_label("Token or key")).to_be_visible()
    assert as_alice() == 401
    assert await session_cookies(context) == []
    audit = daemon.call("GET", "/audit").json()["entries"]
    by_alice = [(entry["operation"], entry["workspace"]) for entry in audit if entry["name"].startswith("alice")]
    assert by_alice == [("POST /ui/oidc/sign-out", "design"), ("GET /ui/oidc/callback", "design")]
    secrets = [secret, CLIENT_SECRET]
    kept = [path.read_bytes() for path in daemon.process.data_dir.rglob("*") if path.is_file()]
    assert not [each for each in secrets if any(each.encode() in file for file in kept)]
    assert not [each for each in secrets if each in daemon.process.output()]


async def test_an_admin_sees_and_ends_the_sign_ins_of_others(context: BrowserContext, daemon: Daemon) -> None:
    tab = await sign_in(context, daemon, "root")
    await expect(tab.page.get_by_label("Signed in as")).to_contain_text("ops · admin")
    await tab.go("#/keys")
    row = tab.page.get_by_role("row").filter(has_text="root@example.com")
    await expect(row).to_contain_text("sign-in")
    await row.get_by_role("button", name="Revoke").click()
    await tab.page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    await expect(tab.page.get_by_role("alert")).to_have_text("You are signed out: your sign-in has ended.")


async def test_a_user_without_a_grant_is_denied(context: BrowserContext, daemon: Daemon) -> None:
    tab = await sign_in(context, daemon, "mallory-sales")
    await expect(tab.page.get_by_role("alert")).to_contain_text("may not use this daemon")
    assert "problem" not in tab.page.url
    assert await session_cookies(context) == []


def test_a_callback_of_another_browser_signs_nobody_in(daemon: Daemon) -> None:
    with httpx2.Client(base_url=daemon.url, timeout=LIMIT_SECONDS, verify=NO_TLS) as client:
        start = client.get("/ui/oidc")
        attributes = "HttpOnly; Max-Age=600; Path=/ui/oidc; SameSite=lax"
        attempt = re.search(f"everyagent_sign_in=([^;]*); {attributes}", start.headers["set-cookie"])
        assert attempt
        query = dict(httpx2.URL(start.headers["location"]).params)
        assert query["code_challenge_method"] == "S256"
        state = attempt[1].partition(".")[0]
        assert (query["state"], query["nonce"]) == tuple(attempt[1].split(".")[:2])
        client.cookies.clear()
        for cookie, given, problem in (
            ("", state, "expired"),
            (attempt[1], "another", "expired"),
            (attempt[1], state, "refused"),
        ):
            path = f"/ui/oidc/callback?state={given}"
            answer = client.get(path, headers={"cookie": f"everyagent_sign_in={cookie}"})
            assert answer.headers["location"] == f"/ui/?problem={problem}"
            assert "everyagent_session" not in str(answer.headers)
        forged = client.get(
            f"/ui/oidc/callback?state={state}&code=made-up", headers={"cookie": f"everyagent_sign_in={attempt[1]}"}
        )
        assert forged.headers["location"] == "/ui/?problem=provider"


def test_without_a_provider_there_is_none_to_sign_in_with(built: None, tmp_path: Path) -> None:
    process = DaemonProcess(tmp_path / "data")
    process.start()
    try:
        with httpx2.Client(base_url=process.url, timeout=LIMIT_SECONDS, verify=NO_TLS) as client:
            assert client.get("/ui/oidc/options").json() == {"name": None}
            assert client.get("/ui/oidc").headers["location"] == "/ui/?problem=unavailable"
    finally:
        process.stop()
