"""Vaults and their credentials: what is secret goes in and never comes out."""

from everyagent.api.routing import Call, Nothing, Routes
from everyagent.errors import Conflict, NotFound
from everyagent.managed.resources.pages import Page
from everyagent.managed.resources.record_store import Deleted, ListQuery
from everyagent.managed.resources.vaults.shape import (
    Credential,
    CredentialCreate,
    CredentialUpdate,
    Validation,
    Vault,
    VaultCreate,
    VaultUpdate,
)

routes = Routes("managed vaults")
_VAULT = "/anthropic/v1/vaults/{vault_id}"
_CREDENTIAL = _VAULT + "/credentials/{credential_id}"


@routes.add("POST", "/anthropic/v1/vaults", effect=True)
async def create_vault(call: Call[Nothing, VaultCreate]) -> Vault:
    """Make a vault."""
    return await call.managed.vaults.create(call.body)


@routes.add("GET", "/anthropic/v1/vaults")
async def list_vaults(call: Call[ListQuery, Nothing]) -> Page[Vault]:
    """Vaults, the newest first."""
    return await call.managed.vaults.list(call.query)


@routes.add("GET", _VAULT, NotFound)
async def retrieve_vault(call: Call[Nothing, Nothing]) -> Vault:
    """A vault."""
    return await call.managed.vaults.retrieve(call.path["vault_id"])


@routes.add("POST", _VAULT, NotFound, effect=True)
async def update_vault(call: Call[Nothing, VaultUpdate]) -> Vault:
    """Another name, other metadata."""
    return await call.managed.vaults.update(call.path["vault_id"], call.body)


@routes.add("DELETE", _VAULT, NotFound)
async def delete_vault(call: Call[Nothing, Nothing]) -> Deleted:
    """Delete a vault with all its credentials."""
    return await call.managed.vaults.delete(call.path["vault_id"])


@routes.add("POST", _VAULT + "/archive", NotFound, effect=True)
async def archive_vault(call: Call[Nothing, Nothing]) -> Vault:
    """It stays to be read; the secrets of its credentials are gone."""
    return await call.managed.vaults.archive(call.path["vault_id"])


@routes.add("POST", _VAULT + "/credentials", NotFound, Conflict, effect=True)
async def create_credential(call: Call[Nothing, CredentialCreate]) -> Credential:
    """Keep a credential: one for each MCP server, one for each variable."""
    return await call.managed.credentials.create(call.path["vault_id"], call.body)


@routes.add("GET", _VAULT + "/credentials", NotFound)
async def list_credentials(call: Call[ListQuery, Nothing]) -> Page[Credential]:
    """A vault's credentials, the newest first."""
    return await call.managed.credentials.list(call.path["vault_id"], call.query)


@routes.add("GET", _CREDENTIAL, NotFound)
async def retrieve_credential(call: Call[Nothing, Nothing]) -> Credential:
    """A credential, without its secret."""
    return await call.managed.credentials.retrieve(call.path["vault_id"], call.path["credential_id"])


@routes.add("POST", _CREDENTIAL, NotFound, effect=True)
async def update_credential(call: Call[Nothing, CredentialUpdate]) -> Credential:
    """Give it a new secret, name or metadata."""
    return await call.managed.credentials.update(call.path["vault_id"], call.path["credential_id"], call.body)


@routes.add("DELETE", _CREDENTIAL, NotFound)
async def delete_credential(call: Call[Nothing, Nothing]) -> Deleted:
    """Delete a credential."""
    return await call.managed.credentials.delete(call.path["vault_id"], call.path["credential_id"])


@routes.add("POST", _CREDENTIAL + "/archive", NotFound, effect=True)
async def archive_credential(call: Call[Nothing, Nothing]) -> Credential:
    """It stays to be read; its secret is gone, and another may take its place."""
    return await call.managed.credentials.archive(call.path["vault_id"], call.path["credential_id"])


@routes.add("POST", _CREDENTIAL + "/mcp_oauth_validate", NotFound, effect=True)
async def validate_credential(call: Call[Nothing, Nothing]) -> Validation:
    """Whether its MCP server takes it; an OAuth token that is not taken is renewed first."""
    return await call.managed.credentials.validate(call.path["vault_id"], call.path["credential_id"])
