"""Deployments: their schedules, and one run for each moment, whatever happens to the daemon."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from everyagent.clock import rfc3339
from everyagent.errors import BadRequest
from everyagent.log.records import RecordQuery
from everyagent.managed import Managed
from everyagent.managed.deployments.cron import parsed
from everyagent.managed.deployments.runs import PENDING, new_run
from everyagent.managed.deployments.scheduler import MAX_MISSED, Scheduler
from everyagent.managed.deployments.shape import (
    CronSchedule,
    Deployment,
    DeploymentCreate,
    DeploymentRun,
    ManualTrigger,
    PausedByError,
    RunListQuery,
    ScheduleTrigger,
)
from everyagent.managed.resources.agents.shape import AgentCreate
from everyagent.managed.resources.environments.shape import EnvironmentCreate
from everyagent.managed.sessions.blocks import Text
from everyagent.managed.sessions.client_events import UserMessage
from everyagent.managed.workspace.shape import RepositoryParams
from everyagent.testing.daemon import DaemonProcess
from tests.managed import parity, services
from tests.managed.sdks import NODE, PYTHON, Sdk
from tests.waiting import LIMIT_SECONDS

MINUTE = 60_000_000
HOURLY = CronSchedule(expression="0 * * * *", timezone="UTC")
START = round(datetime(2026, 3, 1, 11, 30, tzinfo=UTC).timestamp()) * 1_000_000


class SetClock:
    def __init__(self) -> None:
        self.now = START

    def micros(self) -> int:
        return self.now


@asynccontextmanager
async def opened(folder: Path, clock: SetClock, store: str | None = None) -> AsyncGenerator[Managed]:
    async with services.managed(folder, clock=clock, store=store) as managed:
        yield managed


async def deployed(on: Managed, **more: object) -> Deployment:
    agent = await on.agents.create(AgentCreate(name="a", model="mock-small"))
    place = await on.environments.create(EnvironmentCreate(name=agent.id))
    first = UserMessage(content=[Text(text="Hello")])
    asked = {"schedule": HOURLY, **more}
    return await on.deployments.create(
        DeploymentCreate(name="d", agent=agent.id, environment_id=place.id, initial_events=[first], **asked)  # pyright: ignore[reportArgumentType]
    )


async def runs_of(on: Managed, deployment: Deployment) -> list[DeploymentRun]:
    """The oldest first."""
    return (await on.runs.list(RunListQuery(deployment_id=deployment.id, limit=100))).data[::-1]


def moments(runs: list[DeploymentRun]) -> list[str]:
    return [run.trigger_context.scheduled_at for run in runs if isinstance(run.trigger_context, ScheduleTrigger)]


@pytest.mark.parametrize(
    ("expression", "zone", "after", "expected"),
    [
        ("*/20 * * * *", "UTC", "2026-03-01T11:30", ["2026-03-01T11:40", "2026-03-01T12:00"]),
        ("0 9 * * 1-5", "UTC", "2026-03-06T10:00", ["2026-03-09T09:00", "2026-03-10T09:00"]),
        ("0 9 * * 7", "UTC", "2026-03-01T10:00", ["2026-03-08T09:00"]),
        ("0 0 13 * 5", "UTC", "2026-03-01T00:00", ["2026-03-06T00:00", "2026-03-13T00:00", "2026-03-20T00:00"]),
        ("0 0 29 2 *", "UTC", "2026-03-01T00:00", ["2028-02-29T00:00", "2032-02-29T00:00"]),
        ("30 9 * * *", "Europe/Oslo", "2026-03-28T00:00", ["2026-03-28T08:30", "2026-03-29T07:30"]),
        ("30 2 * * *", "Europe/Oslo", "2026-03-28T02:00", ["2026-03-30T00:30"]),
        ("30 2 * * *", "Europe/Oslo", "2026-10-24T12:00", ["2026-10-25T00:30", "2026-10-26T01:30"]),
        (
            "5,10-12/2 3/12 1 1 *",
            "UTC",
            "2026-01-01T00:00",
            [f"2026-01-01T{at}" for at in ("03:05", "03:10", "03:12", "15:05")],
        ),
    ],
)
def test_a_schedule_has_these_moments(expression: str, zone: str, after: str, expected: list[str]) -> None:
    """Also where clocks change: 02:30 does not exist in Oslo on 29 March, and occurs once on 25 October."""
    start = round(datetime.fromisoformat(f"{after}:00+00:00").timestamp()) * 1_000_000
    found = parsed(expression, zone).after(start)
    assert [rfc3339(next(found))[:16] for _ in expected] == expected


@pytest.mark.parametrize(
    "expression",
    ["", "* * * *", "60 * * * *", "* * 0 * *", "5-3 * * * *", "*/0 * * * *", "0 0 30 2 *", "0 0 L * *", "a * * * *"],
)
def test_an_expression_without_meaning_is_refused(expression: str) -> None:
    with pytest.raises(BadRequest):
        parsed(expression, "UTC")


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> str | None:
    return str(request.getfixturevalue("postgres_url")) if request.param == "postgres" else None


async def test_a_run_starts_once_when_it_is_due_whoever_looks(tmp_path: Path, store: str | None) -> None:
    """Several nodes find the same moment due at the same time."""
    clock = SetClock()
    async with opened(tmp_path, clock, store) as on:
        deployment = await deployed(on)
        assert await on.scheduler.fire_due() == START + 30 * MINUTE
        assert await runs_of(on, deployment) == []
        clock.now += 31 * MINUTE
        records = on.sessions.services.records
        other = Scheduler(records, clock, on.deployments, on.runs, clustered=True)
        on.scheduler.changed.set()
        await asyncio.gather(*(other.fire_due() for _ in range(3)))
        runs = await until_runs(on, deployment, 1)
        assert moments(runs) == ["2026-03-01T12:00:00.000000Z"]
        assert runs[0].error is None
        session = await on.managed_sessions.retrieve(runs[0].session_id or "")
        assert session.deployment_id == deployment.id
        shown = await on.deployments.retrieve(deployment.id)
        assert shown.schedule
        assert shown.schedule.last_run_at == rfc3339(clock.now)
        assert shown.schedule.upcoming_runs_at[0] == "2026-03-01T13:00:00.000000Z"


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    with anyio.fail_after(LIMIT_SECONDS):
        while not await condition():
            await anyio.sleep(0.02)


async def until_runs(on: Managed, deployment: Deployment, count: int) -> list[DeploymentRun]:
    """Waits for the scheduler, which runs in a task of its own."""
    found: list[DeploymentRun] = []

    async def there() -> bool:
        found[:] = await runs_of(on, deployment)
        pending = await on.sessions.services.records.page(RecordQuery(kind=PENDING))
        return len(found) == count and not pending

    await until(there)
    return found


async def test_runs_that_no_daemon_could_start_are_recorded_as_missed(tmp_path: Path) -> None:
    clock = SetClock()
    async with opened(tmp_path, clock) as on:
        deployment = await deployed(on)
    clock.now += 3 * 60 * MINUTE  # away at 12, 13 and 14 o'clock
    async with opened(tmp_path, clock) as on:
        runs = await until_runs(on, deployment, 3)
        assert moments(runs) == [f"2026-03-01T{hour}:00:00.000000Z" for hour in (12, 13, 14)]
        assert all(run.error and "missed" in run.error.message and run.session_id is None for run in runs)
        assert (await on.deployments.retrieve(deployment.id)).status == "active"
    clock.now += 33 * MINUTE  # and a little late at 15 o'clock, which is in time
    async with opened(tmp_path, clock) as on:
        runs = await until_runs(on, deployment, 4)
        assert moments(runs)[3:] == ["2026-03-01T15:00:00.000000Z"]
        assert runs[3].session_id
    clock.now += (1000 * 60 + 20) * MINUTE
    async with opened(tmp_path, clock) as on:
        page = await until_runs_of_page(on, deployment)
        assert page[0].error
        assert f"{1000 - MAX_MISSED} earlier runs" in page[0].error.message


async def until_runs_of_page(on: Managed, deployment: Deployment) -> list[DeploymentRun]:
    found: list[DeploymentRun] = []

    async def there() -> bool:
        found[:] = (await on.runs.list(RunListQuery(deployment_id=deployment.id, limit=100))).data
        return len(found) == 100

    await until(there)
    return found


async def test_a_run_that_a_dead_daemon_recorded_gets_its_session(tmp_path: Path) -> None:
    clock = SetClock()
    async with opened(tmp_path, clock) as on:
        deployment = await deployed(on, schedule=None)
        record = await on.deployments.find_active(deployment.id)
        body = on.deployments.body_of(record)
        await on.sessions.services.records.write(*new_run(record.id, body, ManualTrigger()))
        (left,) = await runs_of(on, deployment)
    async with opened(tmp_path, clock) as on:
        (run,) = await until_runs(on, deployment, 1)
        assert run.id == left.id
        assert (await on.managed_sessions.retrieve(run.session_id or "")).deployment_id == deployment.id


async def test_a_run_that_cannot_succeed_pauses_the_schedule(tmp_path: Path) -> None:
    clock = SetClock()
    async with opened(tmp_path, clock) as on:
        deployment = await deployed(on)
        await on.environments.archive(deployment.environment_id)
        by_hand = await on.runs.run(deployment.id)
        assert by_hand.error
        assert by_hand.error.type == "environment_archived_error"
        assert (await on.deployments.retrieve(deployment.id)).status == "active"
        clock.now += 31 * MINUTE
        on.scheduler.changed.set()
        await until_runs(on, deployment, 2)
        paused = (await on.deployments.retrieve(deployment.id)).paused_reason
        assert isinstance(paused, PausedByError)
        assert paused.error.type == "environment_archived_error"
        clock.now += 60 * MINUTE
        assert await on.scheduler.fire_due() is None
        assert len(await runs_of(on, deployment)) == 2
        await on.deployments.unpause(deployment.id)
        await on.scheduler.fire_due()
        assert len(await runs_of(on, deployment)) == 2, "nothing is made up for"


async def test_the_token_of_a_repository_is_sealed(tmp_path: Path) -> None:
    clock = SetClock()
    async with opened(tmp_path, clock) as on:
        repository = RepositoryParams(url="https://example.org/a.git", authorization_token="s3cr3t-of-a-repository")
        deployment = await deployed(on, schedule=None, resources=[repository])
        assert "authorization_token" not in deployment.resources[0]
        record = await on.deployments.find_active(deployment.id)
        assert b"s3cr3t-of-a-repository" not in record.body + (record.secret or b"")
        assert on.deployments.body_of(record).resources == [repository]


@pytest.mark.parametrize("sdk", PYTHON[:2], ids=lambda sdk: sdk.name)
def test_the_python_sdks_deploy_agents(sdk: Sdk, daemon: DaemonProcess) -> None:
    parity.check(sdk, "deployments", "mock", sdk.run("deployments", daemon.url))


def test_the_npm_sdk_deploys_agents(daemon: DaemonProcess) -> None:
    parity.check(NODE, "deployments", "mock", NODE.run("deployments", daemon.url))
