"""Packages of an environment, installed by the machine's package managers."""

import hashlib
import json
import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import cast

import anyio
import pytest

from everyagent.managed.packages.install import install, machine_limits
from everyagent.managed.packages.subprocesses import Child
from everyagent.managed.resources.environments.shape import CloudParams, EnvironmentCreate, Packages, PackagesParams
from everyagent.managed.sessions.blocks import Text
from everyagent.managed.sessions.client_events import UserInterrupt, UserMessage
from everyagent.managed.sessions.shape import EventListQuery, SessionCreate
from everyagent.sessions.limits import Limits
from everyagent.testing.daemon import DaemonProcess
from tests.managed import services
from tests.managed.raw import Event, Raw
from tests.waiting import LIMIT_SECONDS

MANIFEST = """\
[package]
name = "greets-from-a-crate"
version = "1.2.3"
edition = "2021"
"""


def _runs(program: str) -> bool:
    """Whether the program runs. A rustup proxy is found but does not run without a toolchain."""
    found = shutil.which(program)
    return found is not None and subprocess.run([found, "--version"], capture_output=True).returncode == 0


@pytest.mark.skipif(not _runs("cargo"), reason="this machine has no cargo that runs")
def test_a_crate_is_built_by_the_real_cargo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a local folder instead of crates.io."""
    crate = tmp_path / "crates" / "greets-from-a-crate"
    (crate / "src").mkdir(parents=True)
    (crate / "Cargo.toml").write_text(MANIFEST)
    (crate / "src" / "main.rs").write_text('fn main() { println!("hello from a crate"); }')
    files = {
        str(path.relative_to(crate)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in crate.rglob("*")
        if path.is_file()
    }
    (crate / ".cargo-checksum.json").write_text(json.dumps({"files": files}))
    home = tmp_path / "cargo"
    home.mkdir()
    source = f'[source.crates-io]\nreplace-with = "here"\n[source.here]\ndirectory = "{crate.parent}"\n'
    (home / "config.toml").write_text(source)
    rustup = os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))
    monkeypatch.setenv("RUSTUP_HOME", rustup)
    monkeypatch.setenv("CARGO_HOME", str(home))
    installed = install(
        Packages(cargo=["greets-from-a-crate@1.2.3"]), tmp_path / "packages", os.environ["PATH"], Child()
    )
    assert installed.problems == []
    found = shutil.which("greets-from-a-crate", path=installed.env["PATH"])
    assert found is not None
    assert subprocess.run([found], capture_output=True, text=True, check=True).stdout == "hello from a crate\n"
    failed = install(Packages(cargo=["no-such-crate"]), tmp_path / "packages", os.environ["PATH"], Child())
    assert "cargo could not install no-such-crate: " in failed.problems[0]
    assert "could not find `no-such-crate`" in failed.problems[0], "in cargo's own words"


def stand_in(folder: Path, name: str, script: str) -> None:
    """Put a fake package manager on the path."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_gem_and_go_get_their_own_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = tmp_path / "said"
    for name in ("gem", "go"):
        stand_in(tmp_path / "bin", name, f'echo {name} "$@" GOBIN=$GOBIN >> {said}')
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    wanted = Packages(gem=["rake:13.2.1", "rack"], go=["golang.org/x/tools/cmd/stringer", "example.org/tool@v1.0.0"])
    folder = tmp_path / "packages"
    installed = install(wanted, folder, path, Child())
    assert installed.problems == []
    (gem,), (go,) = ([each for each in folder.iterdir() if each.name.startswith(name)] for name in ("gem-", "go-"))
    assert said.read_text().splitlines() == [
        f"gem install --install-dir {gem} --bindir {gem}/bin rake:13.2.1 rack GOBIN=",
        f"go install -- golang.org/x/tools/cmd/stringer@latest GOBIN={go}/bin",
        f"go install -- example.org/tool@v1.0.0 GOBIN={go}/bin",
    ]
    assert installed.env["PATH"].split(":")[:2] == [f"{gem}/bin", f"{go}/bin"]
    assert installed.env["GEM_PATH"] == str(gem)
    install(wanted, folder, path, Child())
    assert len(said.read_text().splitlines()) == 3, "once is enough"


def test_a_missing_package_manager_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    wanted = Packages(gem=["rack"], go=["example.org/tool"], cargo=["ripgrep"], apt=["tree"])
    limits = machine_limits(wanted)
    assert install(wanted, tmp_path / "packages", str(tmp_path), Child()).problems == limits
    assert [limit.split()[0] for limit in limits] == ["apt", "cargo", "gem", "go"]
    assert "the daemon's machine has no apt and dpkg" in limits[0]
    assert "there is no gem on the daemon's machine" in limits[2]


async def test_installing_packages_may_take_longer_than_the_start_of_an_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session is running meanwhile, and a failure is reported with the package manager's message."""
    limit = 8.0
    stand_in(tmp_path / "bin", "gem", f"sleep {limit + 2}")
    stand_in(tmp_path / "bin", "go", "echo no such module; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    async with services.managed(tmp_path, limits=Limits(open_limit=limit)) as on:
        chosen = await services.agent(on)
        packages = PackagesParams(gem=["rack"], go=["example.org/tool"])
        config = CloudParams(packages=packages)
        place = await on.environments.create(EnvironmentCreate(name="slow", config=config))
        hello = UserMessage(content=[Text(text="[hello]")])
        asked = SessionCreate(agent=chosen.id, environment_id=place.id, initial_events=[hello])
        session = await on.managed_sessions.create(asked)
        assert (await on.managed_sessions.retrieve(session.id)).status == "running"
        with anyio.fail_after(LIMIT_SECONDS):
            while (await on.managed_sessions.retrieve(session.id)).status != "idle":
                await anyio.sleep(0.05)
        page, _ = await on.talking.list(session.id, EventListQuery())
        events = json.loads(b"[%b]" % page.bodies)
        assert events[-1]["stop_reason"] == {"type": "end_turn"}
        (error,) = [event["error"] for event in events if event["type"] == "session.error"]
        assert error["message"] == "go could not install example.org/tool: no such module"
        assert error["retry_status"] == {"type": "retrying"}, "the session works on without it"


async def test_a_daemon_that_stops_does_not_wait_for_a_package_manager(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = tmp_path / "pid"
    stand_in(tmp_path / "bin", "gem", f"echo $$ > {pid}; sleep 600")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with anyio.fail_after(LIMIT_SECONDS):
        async with services.managed(tmp_path, limits=Limits(close_limit=0.5)) as on:
            chosen = await services.agent(on)
            place = await services.environment(on, PackagesParams(gem=["rack"]))
            hello = UserMessage(content=[Text(text="[hello]")])
            asked = SessionCreate(agent=chosen.id, environment_id=place.id, initial_events=[hello])
            session = await on.managed_sessions.create(asked)
            while not pid.exists() or not pid.read_text():
                await anyio.sleep(0.02)
            await on.talking.send(session.id, [UserInterrupt()])
            assert (await on.managed_sessions.retrieve(session.id)).status == "idle", "nor does an interrupt"
        while Path("/proc", pid.read_text().strip()).exists():
            await anyio.sleep(0.02)


def test_a_session_reports_a_package_that_does_not_exist_and_goes_on(tmp_path: Path) -> None:
    own = DaemonProcess(tmp_path / "data", "--default-agent", "mock", environment={"PIP_NO_INDEX": "1"})
    own.start()
    raw = Raw(own)
    raw.create(environment={"type": "cloud", "packages": {"pip": ["package-of-nobody"]}})
    raw.say("[hello]")
    raw.wait_idle("end_turn")
    errors = [cast("Event", event["error"]) for event in raw.events() if event["type"] == "session.error"]
    (error,) = errors
    assert (error["type"], error["retry_status"]) == ("unknown_error", {"type": "retrying"})
    assert "pip could not install package-of-nobody: " in str(error["message"])
    assert "No matching distribution found for package-of-nobody" in str(error["message"]), "in pip's own words"
    raw.say("[hello]")
    raw.wait_idle("end_turn")
    raw.close()
    assert own.stop() == 0
