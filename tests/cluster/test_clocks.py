"""A node whose machine's clock is wrong: it has the time of the database, as all others have."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from everyagent.clock import ClusterClock, SystemClock
from everyagent.log.records import RecordQuery
from everyagent.managed import Managed
from everyagent.managed.deployments.runs import PENDING, new_run
from everyagent.managed.deployments.scheduler import Scheduler
from everyagent.managed.deployments.shape import CronSchedule, ManualTrigger, RunListQuery
from everyagent.managed.resources.environments.shape import EnvironmentCreate, SelfHosted
from everyagent.managed.sessions.shape import SessionCreate
from everyagent.managed.work_queue.shape import WorkBeat, WorkPoll
from everyagent.model.asks import AskTimeout
from everyagent.model.sessions import CreateSession
from tests.cluster.nodes import node_here
from tests.managed import services
from tests.managed.test_deployments import deployed, until
from tests.postgres.server import PostgresServer
from tests.sessions.conftest import Talk
from tests.waiting import LIMIT_SECONDS

DAY = 86_400_000_000
YEARLY = CronSchedule(expression="0 0 1 1 *", timezone="UTC")


class FastClock(SystemClock):
    """More than a year ahead."""

    def micros(self) -> int:
        return super().micros() + 400 * DAY


class SteppedTime:
    """Seconds that pass when a test says so."""

    now = 50.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def two(folder: Path, postgres: PostgresServer) -> AsyncGenerator[tuple[Managed, Managed]]:
    """The clock of the second one is wrong."""
    store = postgres.new_schema()
    async with (
        node_here(folder / "right", store) as right,
        node_here(folder / "fast", store, clock=FastClock()) as fast,
    ):
        yield right, fast


def test_a_shared_clock_goes_on_by_itself_and_keeps_what_an_answer_does_not_disprove() -> None:
    time = SteppedTime()
    clock = ClusterClock(FastClock(), elapsed=time)
    assert clock.micros() > SystemClock().micros() + 399 * DAY
    clock.set(1_000_000)
    time.now += 2
    assert clock.micros() == 3_000_000
    clock.set(2_500_000, within=1.0)
    assert clock.micros() == 3_000_000
    clock.set(2_500_000, within=0.25)
    assert clock.micros() == 2_750_000
    clock.set(9_000_000, within=60.0)
    assert clock.micros() == 9_000_000


async def test_work_with_a_heartbeat_is_not_claimed_again(postgres: PostgresServer, tmp_path: Path) -> None:
    async with two(tmp_path, postgres) as (right, fast):
        agent = await services.agent(right)
        place = await right.environments.create(EnvironmentCreate(name="e", config=SelfHosted()))
        made = await right.managed_sessions.create(SessionCreate(agent=agent.id, environment_id=place.id))
        await right.queue.turn_begins(place.id, made.id)
        work = await right.queue.poll(place.id, WorkPoll(), None)
        assert work
        await right.queue.ack(place.id, work.id)
        await right.queue.heartbeat(place.id, work.id, WorkBeat(desired_ttl_seconds=3600))
        assert await fast.queue.poll(place.id, WorkPoll(), None) is None


async def test_a_fresh_run_is_not_started_again_and_no_schedule_is_early(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async with two(tmp_path, postgres) as (right, fast):
        yearly, by_hand = await deployed(right, schedule=YEARLY), await deployed(right, schedule=None)
        record = await right.deployments.find_active(by_hand.id)
        await right.sessions.services.records.write(
            *new_run(record.id, right.deployments.body_of(record), ManualTrigger())
        )
        await one_round(fast.scheduler)
        assert len(await fast.sessions.services.records.page(RecordQuery(kind=PENDING))) == 1
        assert (await fast.runs.list(RunListQuery(deployment_id=yearly.id))).data == []


async def one_round(scheduler: Scheduler) -> None:
    """The second round begins when the first is done."""
    for _ in range(2):
        scheduler.changed.set()
        with anyio.fail_after(LIMIT_SECONDS):
            while scheduler.changed.is_set():
                await anyio.sleep(0.01)


async def test_an_ask_that_is_taken_over_does_not_expire(postgres: PostgresServer, tmp_path: Path) -> None:
    store = postgres.new_schema()
    async with node_here(tmp_path / "right", store) as right:
        asked = [await asking(right, tmp_path, seconds) for seconds in (86_400, 1)]
    async with node_here(tmp_path / "fast", store, clock=FastClock()) as fast:
        long, short = (Talk(fast.sessions, each.id) for each in asked)
        await until(lambda: no_ask(short))
        assert len(await fast.sessions.asks(long.id, pending=True)) == 1


async def asking(on: Managed, folder: Path, seconds: int) -> Talk:
    """A session with an ask that expires after so many seconds."""
    request = CreateSession(agent="mock", directory=str(folder), ask_timeout=AskTimeout(seconds=seconds))
    talk = Talk(on.sessions, (await on.sessions.create(None, request)).session_id)
    await talk.send("[ask]")
    await talk.until(lambda info: info.event_count > 2 and info.status == "waiting")
    return talk


async def no_ask(talk: Talk) -> bool:
    return not await talk.sessions.asks(talk.id, pending=True)


async def test_the_times_of_both_nodes_agree(postgres: PostgresServer, tmp_path: Path) -> None:
    async with two(tmp_path, postgres) as (right, fast):
        times = list[int]()
        for on in (right, fast, right):
            made = await on.sessions.create(None, CreateSession(agent="mock", directory=str(tmp_path)))
            times.append((await right.sessions.get(made.session_id)).created_at)
        assert max(times) - min(times) < DAY // 1000
        assert times[2] >= times[0]
