"""Memory of one real Codex process with twenty sessions, each after one turn."""

from pathlib import Path

from tests.agents.codex.codex_stage import CodexSession, codex_binary
from tests.agents.stage import daemon_of
from tests.scripted.responses_replies import say
from tests.scripted.responses_server import ResponsesServer

from bench.figure import Figure, Standard
from bench.machine import load_average, resident_bytes
from bench.plan import Plan
from bench.served import folder
from everyagent.agents.codex import program

SESSIONS = 20
WEIGHT = Standard(bar=250, goal=200, best="low")


def measure(plan: Plan) -> list[Figure]:
    load = load_average()
    weights = [_weight() for _ in range(2)]
    what = f"memory of Codex with {SESSIONS} sessions in one process"
    return [Figure(what=what, unit="MB", samples=weights, load=load, standard=WEIGHT)]


def _weight() -> float:
    with folder() as path, ResponsesServer() as model, daemon_of(path, **_environment(path)) as daemon:
        sessions = [CodexSession(daemon, model, path).create() for _ in range(SESSIONS)]
        for session in sessions:
            model.script.add(say("word " * 200))
            session.turn("Talk")
        return resident_bytes(sessions[0].app_server()) / 1e6


def _environment(path: Path) -> dict[str, str]:
    return {program.BINARY_VARIABLE: codex_binary(), "CODEX_HOME": str(path)}
