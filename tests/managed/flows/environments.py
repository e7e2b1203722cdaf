"""Environments: create with defaults, update, list, archive, delete."""

import anthropic
from loose import Loose
from refused import refused


def flow(client: Loose) -> None:
    environments = client.beta.environments
    name = f"plain {anthropic.__version__}"
    plain = environments.create(name=name)
    assert plain.config.type == "cloud"
    assert plain.config.networking.type == "unrestricted"
    assert plain.config.packages.pip == []
    assert plain.config.packages.apt == []
    error = refused(anthropic.ConflictError, lambda: environments.create(name=name))
    assert error.response.headers["x-should-retry"] == "false"

    limited = environments.create(
        name=f"limited {anthropic.__version__}",
        description="Little of the world.",
        metadata={"a": "1", "b": "2"},
        config={
            "type": "cloud",
            "networking": {"type": "limited", "allowed_hosts": ["example.com"], "allow_package_managers": True},
            "packages": {"pip": ["attrs==25.1.0"]},
        },
    )
    networking = limited.config.networking
    assert networking.type == "limited"
    assert networking.allowed_hosts == ["example.com"]
    assert (networking.allow_package_managers, networking.allow_mcp_servers) == (True, False)
    changed = environments.update(
        limited.id, config={"type": "cloud", "packages": {"npm": ["left-pad"]}}, metadata={"a": "", "c": "3"}
    )
    assert changed.config.packages.npm == ["left-pad"]
    assert changed.config.packages.pip == ["attrs==25.1.0"]
    assert changed.config.networking.type == "limited"
    assert changed.metadata == {"b": "2", "c": "3"}
    assert environments.retrieve(limited.id).description == "Little of the world."
    nameless = {"type": "cloud", "packages": {"apt": ["No Package"]}}
    raw = environments.with_raw_response.update(limited.id, config=nameless)
    assert "apt packages are not installed" in raw.headers["x-everyagent-warning"]
    closed = {"type": "cloud", "networking": {"type": "limited"}, "packages": {"pip": ["attrs"]}}
    refused(anthropic.BadRequestError, lambda: environments.create(name="closed", config=closed))
    refused(anthropic.ConflictError, lambda: environments.update(limited.id, name=name))

    assert [each.id for each in environments.list(limit=1)][:2] == [limited.id, plain.id]
    archived = environments.archive(plain.id)
    assert archived.archived_at is not None
    assert plain.id not in [each.id for each in environments.list()]
    assert plain.id in [each.id for each in environments.list(include_archived=True)]
    refused(anthropic.BadRequestError, lambda: environments.update(plain.id, name="new"))
    again = environments.create(name=name)
    for each in (plain, limited, again):
        assert environments.delete(each.id).type == "environment_deleted"
    error = refused(anthropic.NotFoundError, lambda: environments.retrieve(limited.id))
    assert error.body["error"]["type"] == "not_found_error"
