"""Debian packages of an environment, installed by the real apt into a folder that agents use."""

import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from everyagent.managed.packages.install import InstalledPackages, install, machine_limits
from everyagent.managed.packages.subprocesses import Child
from everyagent.managed.resources.environments.shape import Packages
from tests.agents.stage import daemon_of
from tests.managed.apt_stage import LACKS, REAL, AptStage, library
from tests.managed.raw import TOOLSET, Event, Raw
from tests.managed.real_models import real_model
from tests.managed.test_managed_on_real_agents import SURROUNDINGS
from tests.managed.test_packages import stand_in

pytestmark = pytest.mark.skipif(not REAL, reason=LACKS)
LIBRARIES = "usr/lib/x86_64-linux-gnu"


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AptStage:
    stage = AptStage(tmp_path / "apt")
    for name, value in stage.variables.items():
        monkeypatch.setenv(name, value)
    return stage


def installed(folder: Path, *wanted: str) -> InstalledPackages:
    return install(Packages(apt=list(wanted)), folder / "packages", os.environ["PATH"], Child())


def output_of(env: dict[str, str], *command: str) -> str:
    found = shutil.which(command[0], path=env["PATH"])
    assert found is not None, env["PATH"]
    done = subprocess.run([found, *command[1:]], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def script(words: str) -> bytes:
    return f"#!/bin/sh\necho {words}\n".encode()


@pytest.mark.skipif(shutil.which("cc") is None, reason="this machine has no compiler")
@pytest.mark.parametrize("agent", ["mock", *sorted(SURROUNDINGS)])
def test_an_agent_runs_an_installed_program_with_its_library(agent: str, tmp_path: Path, apt: AptStage) -> None:
    built, program = library(tmp_path)
    apt.add("libgreet1", "1.0", {f"{LIBRARIES}/libgreet.so.1": built})
    apt.add("greeter", "1.0", {"usr/bin/greeter": program}, needs="libgreet1")
    for folder in ("home", "daemon", "agent"):
        (tmp_path / folder).mkdir()
    around = SURROUNDINGS[agent](tmp_path / "home") if agent in SURROUNDINGS else {}
    with daemon_of(tmp_path / "daemon", **around, **apt.variables) as daemon:
        raw = Raw(daemon)
        config = {"type": "cloud", "packages": {"apt": ["greeter"]}}
        if agent == "mock":
            raw.create(TOOLSET, environment=config)
            events = _turn_events(raw, '[tool command="greeter"]')
        else:
            with real_model(agent, daemon, tmp_path / "agent") as scene:
                scene.run("greeter")
                scene.say("Greeted.")
                vaults = [raw.vault(scene.environment)]
                raw.create(TOOLSET, agent=agent, model=scene.model, environment=config, vault_ids=vaults)
                events = _turn_events(raw, "Greet me")
        raw.close()
    (result,) = [event for event in events if event["type"] == "agent.tool_result"]
    assert "hello from a library" in str(result["content"]), result
    assert not [event for event in events if event["type"] == "session.error"]


def _turn_events(raw: Raw, message: str) -> list[Event]:
    raw.say(message)
    raw.wait_idle("end_turn")
    return raw.events()


def test_the_requested_version_is_installed(tmp_path: Path, apt: AptStage) -> None:
    for version in ("1.0", "2.0-1+b1"):
        apt.add("greeter", version, {"usr/bin/greeter": script(version)})
    assert output_of(installed(tmp_path, "greeter").env, "greeter") == "2.0-1+b1"
    assert output_of(installed(tmp_path, "greeter=1.0").env, "greeter") == "1.0"
    assert output_of(installed(tmp_path, "greeter=2.0-1+b1").env, "greeter") == "2.0-1+b1"
    (problem,) = installed(tmp_path, "greeter=3").problems
    assert problem == "apt could not install greeter=3: E: Version '3' for 'greeter' was not found"


def test_installing_packages_does_not_change_the_machine(tmp_path: Path, apt: AptStage) -> None:
    """Neither package scripts nor the machine's hooks run, and the machine's C library is used."""
    ran = tmp_path / "ran"
    apt.add("libc6", "2.0", {f"{LIBRARIES}/libc.so.6": b"nothing starts with this one"})
    apt.add("greeter", "1.0", {"usr/bin/greeter": script("hello")}, script=f"touch {ran}", needs="libc6 (>= 2.0)")
    before = sorted((apt.hooked.parent / "lists").rglob("*"))
    there = installed(tmp_path, "greeter")
    assert there.problems == []
    assert output_of(there.env, "greeter") == "hello"
    assert not ran.exists()
    assert not apt.hooked.exists()
    assert sorted((apt.hooked.parent / "lists").rglob("*")) == before, "its lists are its own"


def test_absolute_paths_in_packages_point_into_their_folder(tmp_path: Path, apt: AptStage) -> None:
    pc = b"prefix=/usr\nlibdir=/usr/lib\nName: greet\nDescription: x\nVersion: 1\nLibs: -L${libdir} -lgreet\n"
    files: dict[str, bytes | str] = {
        "usr/share/greeter/greet.basic": script("hello"),
        "usr/bin/greeter": "/usr/share/greeter/greet.basic",
        "usr/bin/shell": "../../bin/sh",
        f"{LIBRARIES}/pkgconfig/greet.pc": pc,
        "etc/ld.so.conf.d/greet.conf": b"# ours\n/usr/lib/greeter\n",
        "usr/lib/greeter/libgreet.so.1": b"",
        "usr/lib/python3/dist-packages/greeting.py": b"WORDS = 'hello from a module'\n",
        "usr/lib/git-core/git-greet": script("hello"),
    }
    chosen = (
        "update-alternatives --install /usr/bin/hi hi /usr/share/greeter/greet.basic 30 \\\n"
        "    --slave /usr/bin/hey hey /usr/share/greeter/greet.basic\n"
        "update-alternatives --install /../../../escaped escaped /usr/share/greeter/greet.basic 30\n"
        "update-alternatives --install /usr/bin/$each each /usr/share/greeter/greet.basic 30\n"
    )
    apt.add("greeter", "1.0", files, script=chosen)
    env = installed(tmp_path, "greeter").env
    assert [output_of(env, name) for name in ("greeter", "hi", "hey")] == ["hello"] * 3
    assert output_of(env, "shell", "-c", "echo the machine has it") == "the machine has it"
    assert output_of(env, "python3", "-c", "import greeting; print(greeting.WORDS)") == "hello from a module"
    (root,) = (tmp_path / "packages").glob("apt-?*[0-9a-f]/usr")
    assert f"libdir={root}/lib\n" in (Path(env["PKG_CONFIG_PATH"]) / "greet.pc").read_text()
    assert str(root / "lib/greeter") in env["LD_LIBRARY_PATH"].split(":")
    assert env["XDG_DATA_DIRS"] == f"{root}/share:/usr/local/share:/usr/share"
    assert "GIT_EXEC_PATH" not in env, "git itself is the machine's"
    assert not [*tmp_path.rglob("escaped")]


@pytest.mark.parametrize(
    "name",
    [
        "-o=x",
        "./x.deb",
        "/x.deb",
        "greeter-",
        "greeter/stable",
        "greeter^",
        "Greeter",
        "gre*",
        "a b",
        "g=1 x",
        "g=",
        "ä",
        "",
    ],
)
def test_an_invalid_package_name_does_not_reach_apt(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for program in ("apt-get", "dpkg-deb"):
        stand_in(tmp_path / "bin", program, f"touch {tmp_path / 'called'}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    wanted = Packages(apt=["tree", name])
    assert machine_limits(wanted) == [f"apt packages are not installed: {name!a} is not the name of a Debian package"]
    assert installed(tmp_path, *wanted.apt).problems == machine_limits(wanted)
    assert not (tmp_path / "called").exists()


def test_a_package_name_is_not_a_pattern_and_an_error_has_the_message_of_apt(tmp_path: Path, apt: AptStage) -> None:
    apt.add("greeter", "1.0", {"usr/bin/greeter": script("hello")})
    assert machine_limits(Packages(apt=["gree.er", "g++:amd64", "libstdc++6=12.2.0-14~1"])) == []
    (problem,) = installed(tmp_path, "gree.er").problems
    assert problem.startswith("apt could not install gree.er: ")
    assert "E: Unable to locate package gree.er" in problem
    apt.add("gree.er", "1.0", {"usr/bin/greeter": script("another")})
    assert output_of(installed(tmp_path, "gree.er").env, "greeter") == "another", "tried again, with lists of that day"


def test_concurrent_sessions_download_packages_once(
    tmp_path: Path, apt: AptStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, told = shutil.which("apt-get"), tmp_path / "told"
    stand_in(tmp_path / "bin", "apt-get", f'echo "$@" >> {told}; exec {real} "$@"')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    apt.add("greeter", "1.0", {"usr/bin/greeter": script("hello")})
    each: list[InstalledPackages] = []
    threads = [threading.Thread(target=lambda: each.append(installed(tmp_path, "greeter"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.problems for one in each] == [[]] * 3
    assert [one.env for one in each] == [each[0].env] * 3
    assert [line.split(" -- ")[1] for line in told.read_text().splitlines() if " download " in line] == ["greeter=1.0"]


def test_installed_packages_are_not_downloaded_again(tmp_path: Path, apt: AptStage) -> None:
    there = installed(tmp_path, "libc6")
    assert (there.env, there.problems) == ({}, [])


def test_programs_are_installed_from_the_machines_own_sources(tmp_path: Path) -> None:
    """One program without dependencies and one with a library, downloaded if there is a network."""
    there = installed(tmp_path, "tree", "cabextract")
    if any("Failed to fetch" in problem or "Unable to locate" in problem for problem in there.problems):
        pytest.skip("the machine's package sources cannot be reached")
    assert there.problems == []
    assert "tree v" in output_of(there.env, "tree", "--version")
    assert "cabextract version" in output_of(there.env, "cabextract", "--version")
