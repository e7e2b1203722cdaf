"""Callbacks of runners: only what the right runner signed is taken, once and in order."""

import random
from pathlib import Path

import msgspec
import pytest

from everyagent.errors import BadRequest, NotFound, RunnerKeyInvalid, SignatureInvalid
from everyagent.model.runners import Acknowledged
from everyagent.model.sessions import CreateSession
from everyagent.remote import wire
from everyagent.remote.keys import RunnerKeys
from tests.remote.scripted_runner import ScriptedRunner, bodies, delta, ended, now, remote_sessions, started

pytestmark = pytest.mark.anyio
#: Callbacks that must not be taken.
ATTEMPTS = 10_000


def deltas(found: list[bytes]) -> list[str]:
    """The agent's words."""
    events = [msgspec.json.decode(body) for body in found]
    return [event["data"]["delta"] for event in events if event["type"] == "item.delta" and event["source"] == "agent"]


async def refused(runner: ScriptedRunner, headers: dict[str, str], body: bytes) -> bool:
    try:
        await runner.runners.callback(headers, body)
    except (RunnerKeyInvalid, SignatureInvalid, BadRequest):
        return True
    return False


class Attacker:
    """Sends callbacks of all kinds that must not be taken, between those that must."""

    def __init__(self, runner: ScriptedRunner, other: ScriptedRunner, epochs: dict[str, int], stale: int) -> None:
        self.runner, self.other, self.epochs, self.stale = runner, other, epochs, stale
        self.random = random.Random(1)
        self.taken: list[tuple[dict[str, str], bytes]] = []
        self.sequence = 3
        self.kinds = (
            *(self.forged, self.altered_body, self.altered_header, self.replayed, self.reordered, self.late),
            *(self.stale_epoch, self.foreign_session, self.foreign_runner, self.swapped, self.unknown_key),
        )

    def body(self, session_id: str = "one", epoch: int | None = None, first: int | None = None) -> bytes:
        epoch = epoch or self.epochs[session_id]
        return self.runner.callback(session_id, epoch, first or self.sequence + 1, delta(epoch, "forged "))

    def signed(
        self,
        body: bytes,
        session_id: str = "one",
        epoch: int | None = None,
        *,
        secret: bytes = b"",
        at: int | None = None,
    ) -> dict[str, str]:
        epoch = epoch or self.epochs[session_id]
        secret = secret or wire.session_secret(self.runner.secret, session_id, epoch)
        return self.runner.signed(secret, body, at=at, of=(session_id, epoch))

    async def forged(self) -> None:
        body = self.body()
        assert await refused(self.runner, self.signed(body, secret=self.random.randbytes(32)), body)

    async def altered_body(self) -> None:
        body = self.body()
        headers, altered = self.signed(body), bytearray(body)
        altered[self.random.randrange(len(altered))] ^= 1 << self.random.randrange(8)
        assert await refused(self.runner, headers, bytes(altered))

    async def altered_header(self) -> None:
        body = self.body()
        headers = self.signed(body)
        name = self.random.choice([name for name in headers if name != wire.KEY_HEADER])
        text = bytearray(headers[name].encode())
        text[self.random.randrange(len(text))] ^= 1 << self.random.randrange(7)
        headers[name] = text.decode("latin-1")
        assert await refused(self.runner, headers, body)

    async def replayed(self) -> None:
        """The same answer, and nothing is stored again."""
        headers, body = self.random.choice(self.taken)
        assert await self.runner.runners.callback(headers, body) == Acknowledged(sequence=self.sequence)

    async def reordered(self) -> None:
        """Entries after a gap are not taken; the answer has the last number that was."""
        body = self.body(first=self.sequence + self.random.randrange(2, 9))
        assert await self.runner.runners.callback(self.signed(body), body) == Acknowledged(sequence=self.sequence)

    async def late(self) -> None:
        body = self.body()
        wrong = now() + self.random.choice([-1, 1]) * self.random.randrange(310, 10**6)
        assert await refused(self.runner, self.signed(body, at=wrong), body)

    async def stale_epoch(self) -> None:
        body = self.body(epoch=self.stale)
        assert (await self.runner.runners.callback(self.signed(body, epoch=self.stale), body)).fenced

    async def foreign_session(self) -> None:
        """A session of the same daemon that this runner does not have."""
        body = self.body("local")
        assert (await self.runner.runners.callback(self.signed(body, "local"), body)).fenced

    async def foreign_runner(self) -> None:
        """Another runner signs with its own key for this session."""
        body = self.body()
        secret = wire.session_secret(self.other.secret, "one", self.epochs["one"])
        headers = self.signed(body, secret=secret) | {wire.KEY_HEADER: self.other.key_id}
        assert (await self.runner.runners.callback(headers, body)).fenced

    async def swapped(self) -> None:
        """The key of one session does not sign for another, whatever the header or the body says."""
        body = self.body("one")
        headers = self.signed(body, "two")
        assert await refused(self.runner, headers, body)
        headers[wire.CONVERSATION_HEADER] = f"one {self.epochs['one']}"
        assert await refused(self.runner, headers, body)

    async def unknown_key(self) -> None:
        body = self.body()
        headers = self.signed(body) | {wire.KEY_HEADER: self.random.choice(["", "rkey_x"])}
        assert await refused(self.runner, headers, body)

    async def take(self, text: str) -> None:
        body = self.runner.callback("one", self.epochs["one"], self.sequence + 1, delta(self.epochs["one"], text))
        headers = self.signed(body)
        self.sequence += 1
        assert await self.runner.runners.callback(headers, body) == Acknowledged(sequence=self.sequence)
        self.taken.append((headers, body))


async def test_no_forged_altered_replayed_late_or_foreign_callback_is_taken(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path) as (sessions, runner):
        other = ScriptedRunner(runner.runners, (await runner.runners.keys.create("other")).secret)
        await other.connect()
        stale = await runner.begin(sessions, "one")
        await runner.send("one", stale, 3, wire.Died(msgspec.convert({"expected": True}, wire.Death)))
        runner.commands.clear()
        epoch = await runner.prompted(sessions, "one")
        assert epoch > stale
        epochs = {"one": epoch, "two": await runner.begin(sessions, "two"), "local": 7}
        await sessions.create("local", CreateSession(agent="mock"))
        await runner.send("one", epoch, 3, started(epoch))
        attacker = Attacker(runner, other, epochs, stale)
        await attacker.take("0 ")
        before = {name: (await sessions.get(name)).event_count for name in ("two", "local")}
        for number in range(ATTEMPTS):
            await attacker.random.choice(attacker.kinds)()
            if number % 100 == 99:
                await attacker.take(f"{number} ")
        assert deltas(await bodies(sessions, "one")) == ["0 ", *(f"{number} " for number in range(99, ATTEMPTS, 100))]
        assert {name: (await sessions.get(name)).event_count for name in ("two", "local")} == before


async def test_a_runner_cannot_say_what_only_a_user_or_the_daemon_may(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path) as (sessions, runner):
        epoch = await runner.begin(sessions, "one")
        before = (await sessions.get("one")).event_count
        fine = msgspec.to_builtins(delta(epoch, "x").frames[0])
        for kind, data in ((1, {}), (2, {"reason": "terminated", "terminated_by": "agent"}), (15, {})):
            fine[3] = [(kind, msgspec.json.encode(data))]
            entry = msgspec.Raw(msgspec.msgpack.encode(["frames", [fine]]))
            callback = wire.Callback(session_id="one", epoch=epoch, first=3, command=9, entries=[entry])
            body = msgspec.msgpack.encode(callback)
            secret = wire.session_secret(runner.secret, "one", epoch)
            with pytest.raises(BadRequest):
                await runner.runners.callback(runner.signed(secret, body, of=("one", epoch)), body)
        assert (await sessions.get("one")).event_count == before
        assert (await runner.send("one", epoch, 3, started(epoch), ended())).sequence == 4


async def test_entries_that_were_stored_before_are_left_out(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path) as (sessions, runner):
        epoch = await runner.begin(sessions, "one")
        await runner.send("one", epoch, 3, started(epoch), delta(epoch, "a "))
        answer = await runner.send("one", epoch, 3, started(epoch), delta(epoch, "a "), delta(epoch, "b "))
        assert answer == Acknowledged(sequence=5)
        assert deltas(await bodies(sessions, "one")) == ["a ", "b "]


async def test_a_connect_is_accepted_once(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path) as (_, runner):
        body = msgspec.json.encode(wire.Hello(instance="one", version="1"))
        headers = runner.signed(runner.secret, body)
        await runner.runners.connect(headers, body)
        with pytest.raises(SignatureInvalid):
            await runner.runners.connect(headers, body)
        with pytest.raises(SignatureInvalid):
            await runner.runners.connect(runner.signed(b"x" * 32, body), body)


async def test_a_connect_is_not_accepted_again_after_a_restart_of_the_daemon(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path) as (_, runner):
        pass
    async with remote_sessions(tmp_path, before=runner) as (_, again):
        again.connected_with = runner.connected_with
        with pytest.raises(SignatureInvalid, match="received before"):
            await again.connect_again()


async def test_a_key_that_another_node_revoked_is_refused_soon(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path) as (sessions, runner):
        now, refused = 0.0, list[str]()
        records, vault = sessions.services.records, sessions.services.vault
        here = RunnerKeys(records, vault.seal, vault.unseal, lambda: now)
        here.revoked = lambda key: refused.append(key.key_id)
        assert await here.find(runner.key_id)
        await runner.runners.keys.revoke(runner.key_id)
        now = 6.0
        assert await here.find(runner.key_id) is None
        assert refused == [runner.key_id]


async def test_two_keys_of_a_runner_are_valid_until_one_is_revoked(tmp_path: Path) -> None:
    async with remote_sessions(tmp_path) as (sessions, runner):
        epoch = await runner.begin(sessions, "one")
        newer = ScriptedRunner(runner.runners, (await runner.runners.keys.create("far")).secret)
        await runner.send("one", epoch, 3, started(epoch))
        assert await newer.send("one", epoch, 4, delta(epoch, "a ")) == Acknowledged(sequence=4)
        await runner.runners.keys.revoke(runner.key_id)
        with pytest.raises(RunnerKeyInvalid):
            await runner.send("one", epoch, 5, delta(epoch, "b "))
        assert await newer.send("one", epoch, 5, delta(epoch, "b ")) == Acknowledged(sequence=5)
        with pytest.raises(NotFound):
            await runner.runners.keys.revoke("rkey_unknown")
