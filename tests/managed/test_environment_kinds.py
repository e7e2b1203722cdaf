"""The kind of an environment cannot change."""

from pathlib import Path

import pytest

from everyagent.errors import BadRequest
from everyagent.managed.resources.environments.shape import (
    CloudParams,
    EnvironmentCreate,
    EnvironmentUpdate,
    SelfHosted,
)
from tests.managed.services import managed


async def test_cloud_and_self_hosted_environments_cannot_be_converted(tmp_path: Path) -> None:
    async with managed(tmp_path) as on:
        for number, (kind, other) in enumerate(((CloudParams(), SelfHosted()), (SelfHosted(), CloudParams()))):
            made = await on.environments.create(EnvironmentCreate(name=f"e{number}", config=kind))
            with pytest.raises(BadRequest, match="stays of its kind"):
                await on.environments.update(made.id, EnvironmentUpdate(config=other))
            assert await on.environments.update(made.id, EnvironmentUpdate(config=kind, name=f"f{number}"))
