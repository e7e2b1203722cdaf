"""Renewal of OAuth credentials with single-use refresh tokens."""

from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path

import anyio
import pytest

from everyagent.managed import Managed
from everyagent.managed.resources.record_store import ListQuery
from everyagent.managed.resources.vaults import oauth
from everyagent.managed.resources.vaults.shape import (
    Credential,
    CredentialCreate,
    CredentialUpdate,
    NoneAuthParams,
    Oauth,
    OauthCreate,
    Refresh,
    RefreshOutcome,
    RefreshParams,
    Secrets,
    VaultCreate,
)
from tests.managed import services

SERVER = "https://mcp.example.com/mcp"
CALLERS = 6


class TokenEndpoint:
    """Gives a new pair of tokens for the newest refresh token, and refuses all older ones."""

    def __init__(self, on: Managed) -> None:
        self._on = on
        self.newest = 1
        self.refused = 0
        self.asked = anyio.Event()

    async def renew(self, refresh: Refresh, secrets: Secrets) -> tuple[RefreshOutcome, oauth.OauthTokens | None]:
        self.asked.set()
        if secrets.refresh_token != f"refresh-{self.newest}":
            self.refused += 1
            for _ in range(20):
                await self._on.vaults.list(ListQuery())
            return RefreshOutcome(status="failed", http_response=None), None
        self.newest += 1
        for _ in range(20):  # an answer that takes longer than every other caller needs to get here
            await self._on.vaults.list(ListQuery())
        tokens = oauth.OauthTokens(
            access_token=f"access-{self.newest}", refresh_token=f"refresh-{self.newest}", expires_in=3600
        )
        return RefreshOutcome(status="succeeded", http_response=None), tokens


async def expired(on: Managed) -> Credential:
    vault = await on.vaults.create(VaultCreate(display_name="v"))
    refresh = RefreshParams(
        token_endpoint="https://example.com/token",
        client_id="everyagent",
        refresh_token="refresh-1",
        token_endpoint_auth=NoneAuthParams(),
    )
    ended = datetime(2020, 1, 1, tzinfo=UTC)
    auth = OauthCreate(mcp_server_url=SERVER, access_token="access-1", expires_at=ended, refresh=refresh)
    return await on.credentials.create(vault.id, CredentialCreate(auth=auth))


async def test_concurrent_sessions_use_a_refresh_token_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with services.managed(tmp_path) as on:
        endpoint = TokenEndpoint(on)
        monkeypatch.setattr(oauth, "renew", endpoint.renew)
        credential = await expired(on)
        tokens: list[str] = []

        async def start() -> None:
            tokens.append((await on.credentials.given_by([credential.vault_id])).bearers[SERVER])

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(start)
        assert (endpoint.newest, endpoint.refused) == (2, 0)
        assert tokens == ["access-2"] * 8


async def test_concurrent_sessions_share_a_failed_renewal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with services.managed(tmp_path) as on:
        endpoint = TokenEndpoint(on)
        endpoint.newest = 7  # it refuses the stored token
        ends_soon = attrgetter("_ends_soon")(on.credentials)
        arrived: list[Oauth] = []
        everybody = anyio.Event()

        def arrive(auth: Oauth) -> bool:
            arrived.append(auth)
            if len(arrived) == CALLERS:
                everybody.set()
            return ends_soon(auth)

        async def renew(refresh: Refresh, secrets: Secrets) -> tuple[RefreshOutcome, oauth.OauthTokens | None]:
            await everybody.wait()  # a caller that comes later tries anew
            return await endpoint.renew(refresh, secrets)

        monkeypatch.setattr(on.credentials, "_ends_soon", arrive)
        monkeypatch.setattr(oauth, "renew", renew)
        credential = await expired(on)
        async with anyio.create_task_group() as tasks:
            for _ in range(CALLERS):
                tasks.start_soon(on.credentials.given_by, [credential.vault_id])
        assert endpoint.refused == 1


async def test_a_caller_that_stops_waiting_does_not_lose_the_new_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with services.managed(tmp_path) as on:
        endpoint = TokenEndpoint(on)
        monkeypatch.setattr(oauth, "renew", endpoint.renew)
        credential = await expired(on)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(on.credentials.given_by, [credential.vault_id])
            await endpoint.asked.wait()
            tasks.cancel_scope.cancel()
        assert (await on.credentials.given_by([credential.vault_id])).bearers == {SERVER: "access-2"}
        assert (endpoint.newest, endpoint.refused) == (2, 0)


async def test_a_credential_renamed_during_a_renewal_keeps_the_new_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with services.managed(tmp_path) as on:
        endpoint = TokenEndpoint(on)
        monkeypatch.setattr(oauth, "renew", endpoint.renew)
        credential = await expired(on)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(on.credentials.given_by, [credential.vault_id])
            await endpoint.asked.wait()
            named = CredentialUpdate(display_name="Docs")
            await on.credentials.update(credential.vault_id, credential.id, named)
        found = await on.credentials.retrieve(credential.vault_id, credential.id)
        assert found.display_name == "Docs"
        assert (await on.credentials.given_by([credential.vault_id])).bearers == {SERVER: "access-2"}
        assert (endpoint.newest, endpoint.refused) == (2, 0)
