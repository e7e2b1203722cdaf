"""Routes of vaults and credentials. Secrets are accepted and never returned."""

from everyagent.api.routing import Call, Nothing, Routes
from everyagent.errors import Conflict, NotFound
from everyagent.managed.resources.pages import Page
from everyagent.managed.resources.record_store import Deleted, ListQuery
from everyagent.managed.resources.vaults.restrictions import unapplied
from everyagent.managed.resources.vaults.shape import (
    BearerCreate,
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
    """Create a vault."""
    return await call.managed.vaults.create(call.body)


@routes.add("GET", "/anthropic/v1/vaults")
async def list_vaults(call: Call[ListQuery, Nothing]) -> Page[Vault]:
    """List vaults, newest first."""
    return await call.managed.vaults.list(call.query)


@routes.add("GET", _VAULT, NotFound)
async def retrieve_vault(call: Call[Nothing, Nothing]) -> Vault:
    """A vault."""
    return await call.managed.vaults.retrieve(call.path["vault_id"])


@routes.add("POST", _VAULT, NotFound, effect=True)
async def update_vault(call: Call[Nothing, VaultUpdate]) -> Vault:
    """Update the name or the metadata."""
    return await call.managed.vaults.update(call.path["vault_id"], call.body)


@routes.add("DELETE", _VAULT, NotFound)
async def delete_vault(call: Call[Nothing, Nothing]) -> Deleted:
    """Delete a vault with all its credentials."""
    return await call.managed.vaults.delete(call.path["vault_id"])


@routes.add("POST", _VAULT + "/archive", NotFound, effect=True)
async def archive_vault(call: Call[Nothing, Nothing]) -> Vault:
    """Archive a vault. It can be read; the secrets of its credentials are deleted."""
    return await call.managed.vaults.archive(call.path["vault_id"])


@routes.add("POST", _VAULT + "/credentials", NotFound, Conflict, effect=True)
async def create_credential(call: Call[Nothing, CredentialCreate]) -> Credential:
    """Create a credential: at most one for each MCP server and each variable."""
    if isinstance(call.body.auth, BearerCreate) and call.body.auth.mcp_server_url is None:
        call.warnings.append("auth.mcp_server_url is missing: the token is stored, and sent to no server")
    credential = await call.managed.credentials.create(call.path["vault_id"], call.body)
    call.warnings += unapplied(credential.auth)
    return credential


@routes.add("GET", _VAULT + "/credentials", NotFound)
async def list_credentials(call: Call[ListQuery, Nothing]) -> Page[Credential]:
    """List the credentials of a vault, newest first."""
    return await call.managed.credentials.list(call.path["vault_id"], call.query)


@routes.add("GET", _CREDENTIAL, NotFound)
async def retrieve_credential(call: Call[Nothing, Nothing]) -> Credential:
    """A credential, without its secret."""
    return await call.managed.credentials.retrieve(call.path["vault_id"], call.path["credential_id"])


@routes.add("POST", _CREDENTIAL, NotFound, effect=True)
async def update_credential(call: Call[Nothing, CredentialUpdate]) -> Credential:
    """Update the secret, name or metadata."""
    credential = await call.managed.credentials.update(call.path["vault_id"], call.path["credential_id"], call.body)
    call.warnings += unapplied(credential.auth)
    return credential


@routes.add("DELETE", _CREDENTIAL, NotFound)
async def delete_credential(call: Call[Nothing, Nothing]) -> Deleted:
    """Delete a credential."""
    return await call.managed.credentials.delete(call.path["vault_id"], call.path["credential_id"])


@routes.add("POST", _CREDENTIAL + "/archive", NotFound, effect=True)
async def archive_credential(call: Call[Nothing, Nothing]) -> Credential:
    """Archive a credential. It can be read; its secret is deleted, and a new one may replace it."""
    return await call.managed.credentials.archive(call.path["vault_id"], call.path["credential_id"])


@routes.add("POST", _CREDENTIAL + "/mcp_oauth_validate", NotFound, effect=True)
async def validate_credential(call: Call[Nothing, Nothing]) -> Validation:
    """Check a credential with its MCP server. A refused OAuth token is renewed first."""
    return await call.managed.credentials.validate(call.path["vault_id"], call.path["credential_id"])
