"""Vaults and credentials: create, update, validate, archive; secrets are never returned."""

import anthropic
from loose import Loose
from refused import refused

SECRET = "s3cr3t-" + "x" * 20


def flow(client: Loose, mcp: str) -> None:
    vaults = client.beta.vaults
    vault = vaults.create(display_name="Ada", metadata={"user": "1"})
    assert (vault.type, vault.display_name, vault.archived_at) == ("vault", "Ada", None)
    assert vaults.update(vault.id, display_name="Ada L.", metadata={"user": None, "x": "y"}).metadata == {"x": "y"}
    assert vaults.retrieve(vault.id).display_name == "Ada L."
    assert vault.id in [each.id for each in vaults.list(limit=1)]
    bearer(vaults, vault, mcp)
    oauth(vaults, vault, mcp)
    variable(vaults, vault)
    archive_and_delete(vaults, vault)


def bearer(vaults: Loose, vault: Loose, mcp: str) -> None:
    credentials = vaults.credentials
    auth = {"type": "static_bearer", "mcp_server_url": f"{mcp}/static", "token": SECRET}
    made = credentials.create(vault.id, auth=auth, display_name="Docs")
    assert made.auth.type == "static_bearer"
    assert made.auth.mcp_server_url == f"{mcp}/static"
    assert SECRET not in made.to_json()
    error = refused(anthropic.ConflictError, lambda: credentials.create(vault.id, auth=auth))
    assert error.response.headers["x-should-retry"] == "false"
    assert SECRET not in str(error)
    new = credentials.update(made.id, vault_id=vault.id, auth={"type": "static_bearer", "token": "other"})
    assert new.display_name == "Docs"
    assert credentials.retrieve(made.id, vault_id=vault.id).id == made.id
    refused(anthropic.NotFoundError, lambda: credentials.retrieve(made.id, vault_id="vlt_other"))
    assert credentials.archive(made.id, vault_id=vault.id).archived_at is not None
    again = credentials.create(vault.id, auth=auth)
    assert [each.id for each in credentials.list(vault.id)] == [again.id]
    assert [each.id for each in credentials.list(vault.id, include_archived=True, limit=1)] == [again.id, made.id]
    assert credentials.delete(again.id, vault_id=vault.id).type == "vault_credential_deleted"


def oauth(vaults: Loose, vault: Loose, mcp: str) -> None:
    credentials = vaults.credentials
    made = credentials.create(
        vault.id,
        auth={
            "type": "mcp_oauth",
            "mcp_server_url": f"{mcp}/mcp",
            "access_token": "stale",
            "expires_at": "2030-01-01T00:00:00Z",
            "refresh": {
                "token_endpoint": f"{mcp}/token",
                "client_id": "everyagent",
                "refresh_token": "refresh-1",
                "token_endpoint_auth": {"type": "client_secret_post", "client_secret": SECRET},
            },
        },
    )
    assert made.auth.refresh.token_endpoint_auth.type == "client_secret_post"
    assert SECRET not in made.to_json()
    assert "refresh-1" not in made.to_json()
    if hasattr(credentials, "mcp_oauth_validate"):
        found = credentials.mcp_oauth_validate(made.id, vault_id=vault.id)
        assert (found.status, found.has_refresh_token, found.refresh.status) == ("valid", True, "succeeded")
        assert "fresh" not in found.to_json().replace("refresh", "")
        assert credentials.mcp_oauth_validate(made.id, vault_id=vault.id).refresh is None


def variable(vaults: Loose, vault: Loose) -> None:
    auth = {
        "type": "environment_variable",
        "secret_name": "API_KEY",
        "secret_value": SECRET,
        "networking": {"type": "limited", "allowed_hosts": ["api.example.com"]},
    }
    if int(anthropic.__version__.partition(".")[0]) < 1:
        return
    made = vaults.credentials.create(vault.id, auth=auth)
    assert made.auth.secret_name == "API_KEY"
    assert (made.auth.injection_location.header, made.auth.injection_location.body) == (True, True)
    changed = vaults.credentials.update(
        made.id, vault_id=vault.id, auth={"type": "environment_variable", "injection_location": {"body": False}}
    )
    assert (changed.auth.injection_location.header, changed.auth.injection_location.body) == (True, False)
    assert changed.auth.networking.allowed_hosts == ["api.example.com"]
    assert SECRET not in changed.to_json()


def archive_and_delete(vaults: Loose, vault: Loose) -> None:
    full = vaults.create(display_name="full")
    for n in range(20):
        auth = {"type": "static_bearer", "mcp_server_url": f"https://example.com/{n}", "token": "t"}
        vaults.credentials.create(full.id, auth=auth)
    one_more = {"type": "static_bearer", "mcp_server_url": "https://example.com/more", "token": "t"}
    refused(anthropic.BadRequestError, lambda: vaults.credentials.create(full.id, auth=one_more))
    assert vaults.archive(vault.id).archived_at is not None
    assert list(vaults.credentials.list(vault.id)) == []
    refused(anthropic.BadRequestError, lambda: vaults.credentials.create(vault.id, auth=one_more))
    for each in (vault, full):
        assert vaults.delete(each.id).type == "vault_deleted"
    refused(anthropic.NotFoundError, lambda: vaults.retrieve(vault.id))
