"""Coverage-guided fuzzing of one decoder with atheris: `python -m tests.torture.fuzz_target AGENT`."""

import importlib
import sys

atheris = importlib.import_module("atheris")

with atheris.instrument_imports(include=["everyagent.agents"]):
    from tests.torture.decoders import check, no_faults

agent = sys.argv.pop(1)


def one_input(data: bytes) -> None:
    with no_faults():
        check(agent, [line for line in data.split(b"\n") if line])


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
