"""Row: fuzzers over every decoder, seeded by recorded transcripts: random mutations, then coverage-guided ones."""

import asyncio
import os
import random
import re
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from tests.torture.decoders import DECODERS, check, no_faults, transcripts
from tests.torture.mutations import LINES, mutated
from tests.torture.row import Outcome, Run

ROOT = Path(__file__).parents[2]
#: Seconds of coverage-guided fuzzing for each decoder.
GUIDED_SECONDS = 300


def exchange(agent: str, chance: random.Random) -> list[bytes]:
    """A recorded conversation of which some lines are changed, left out, repeated or out of order."""
    lines = list(chance.choice(transcripts_of(agent)))
    start = chance.randrange(len(lines))
    lines = lines[start : start + 60] if chance.random() < 0.5 else lines[:60]
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(lines))
        match chance.randrange(6):
            case 0 if len(lines) > 1:
                del lines[at]
            case 1:
                lines.insert(chance.randrange(len(lines)), lines[at])
            case 2:
                lines.insert(at, chance.choice([line for line in LINES.values() if len(line) < 10_000]))
            case _:
                lines[at] = mutated(lines[at], chance)
    return lines


_recorded: dict[str, list[list[bytes]]] = {}


def transcripts_of(agent: str) -> list[list[bytes]]:
    return _recorded.setdefault(agent, transcripts(agent))


def play(agent: str, seed: int) -> int:
    """One exchange. Returns its number of lines."""
    lines = exchange(agent, random.Random(f"{agent} {seed}"))
    try:
        with no_faults():
            check(agent, lines)
    except Exception as error:
        raise AssertionError(f"{agent}, seed {seed}: {type(error).__name__}: {error}") from error
    return len(lines)


async def run(run: Run) -> Outcome:
    exchanges = run.pick(150, 20_000)
    run.announce(len(DECODERS) * (2 if run.size == "full" else 1))
    outcome = Outcome()
    for agent in DECODERS:
        lines = done = 0
        for seed in range(exchanges):
            if run.over:
                outcome.partial.append(f"{agent}: {exchanges - seed:,} of {exchanges:,} mutated conversations")
                break
            lines, done = lines + play(agent, seed), done + 1
        outcome.faults += lines
        outcome.figures[f"{agent}, mutated transcripts"] = f"{done:,} conversations, {lines:,} lines, no finding"
        run.step()
    if run.size == "full" and find_spec("atheris") is None:
        outcome.partial.append("coverage-guided fuzzing: atheris is not installed (pip install atheris)")
    elif run.size == "full":
        for agent in DECODERS:
            count, seconds = await _guided(agent, run)
            outcome.faults += count
            outcome.figures[f"{agent}, coverage-guided"] = f"{count:,} inputs in {seconds:.0f} s, no finding"
            if seconds < GUIDED_SECONDS:
                outcome.partial.append(f"{agent}: coverage-guided for {seconds:.0f} of {GUIDED_SECONDS} s")
            run.step()
    return outcome


async def _guided(agent: str, run: Run) -> tuple[int, int]:
    """Runs atheris in a process of its own. Returns the number of inputs and the seconds."""
    corpus = run.folder / f"corpus-{agent}"
    corpus.mkdir()
    for number, lines in enumerate(transcripts_of(agent)):
        (corpus / f"{number}").write_bytes(b"\n".join(lines[:60])[:65_536])
    seconds = GUIDED_SECONDS if run.deadline == float("inf") else 60
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.torture.fuzz_target",
        agent,
        str(corpus),
        f"-max_total_time={seconds}",
        "-max_len=65536",
        "-rss_limit_mb=4096",
        f"-artifact_prefix={run.folder}/",
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    text = output.decode(errors="replace")
    assert process.returncode == 0, f"{agent}: {text[-3000:]}"
    done = re.search(r"Done (\d+) runs", text)
    assert done, text[-500:]
    return int(done[1]), min(seconds, round(time.monotonic() - began))
