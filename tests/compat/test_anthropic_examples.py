"""The examples for managed agents of Anthropic's SDKs.

Those for Python are in the source archive. EVERYAGENT_TYPESCRIPT_EXAMPLES names the folder `examples` of the repository
that has those for TypeScript.
"""

import os
import shutil
import sys
from pathlib import Path

from tests.compat.anthropic_source import VERSION, unpacked
from tests.compat.examples import Example, a_token, claimed, run_all, self_hosted
from tests.compat.results import TODAY, Result, by_hand, check_result
from tests.managed.sdks import NEWEST
from tests.node_packages import npm_packages

TYPESCRIPT = "0.120.0"
NEEDS = (f"@anthropic-ai/sdk@{TYPESCRIPT}", "tsx@4.20.6", "zod@4.1.12")
#: One waits for an event that the API does not have.
HANGS_AFTER = 90.0
ON_CLAUDE_CODE = "on Claude Code with a scripted model"


def test_the_examples_of_the_python_sdk(tmp_path: Path) -> None:
    folder = unpacked(tmp_path) / "examples"
    dispatch = folder / "managed-agents-worker-dispatch.py"
    dispatch.write_text(dispatch.read_text().replace('"/workspace"', 'os.environ["ANTHROPIC_WORKDIR"]'))
    dispatch.write_text(dispatch.read_text().replace("import asyncio\n", "import asyncio\nimport os\n", 1))
    examples = (
        Example("managed-agents-self-hosted-sandbox-worker.py", "agent.message: It is late.", self_hosted),
        Example("agents.py", "Hello, user."),
        Example("agents_comprehensive.py", "A toolset and a tool.", a_token),
        Example("agents_with_files.py", "alpha, bravo and charlie"),
        Example("managed-agents-observe-tool-calls.py", "is_error=False posted=True", self_hosted),
        Example("managed-agents-streaming-deltas-manual.py", "[final] Waves."),
        Example("managed-agents-worker-dispatch.py", "work item complete", claimed),
    )
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(NEWEST.installed())}
    in_folder = tuple(each._replace(file=str(folder / each.file)) for each in examples)
    works = run_all(tmp_path, [f"{sys.base_prefix}/bin/python3", "-s"], in_folder, variables)
    result = Result(
        program=f"examples of `anthropic` for Python {VERSION}",
        run=f"the seven for managed agents, unchanged but for the folder `/workspace`, {ON_CLAUDE_CODE}",
        passed=sum(works),
        total=len(works),
    )
    check_result("anthropic-python-examples", result)


@by_hand
def test_the_examples_of_the_typescript_sdk(tmp_path: Path) -> None:
    given = Path(os.environ["EVERYAGENT_TYPESCRIPT_EXAMPLES"])
    packages = npm_packages(f"typescript-{TYPESCRIPT}-examples", *NEEDS)
    folder = tmp_path / "examples"
    shutil.copytree(given, folder)
    (folder / "node_modules").symlink_to(packages / "node_modules")
    examples = (
        Example("managed-agents-self-hosted-sandbox-worker.ts", "agent.message: It is late.", self_hosted),
        Example("agents.ts", "Hello, user."),
        Example("agents-comprehensive.ts", "A toolset and a tool.", a_token),
        Example("agents-with-files.ts", "alpha, bravo and charlie"),
        Example("managed-agents-observe-tool-calls.ts", "-> ok", self_hosted),
        Example("managed-agents-streaming-deltas-manual.ts", "Waves."),
        Example("managed-agents-worker-dispatch.ts", "work item handled", claimed),
    )
    in_folder = tuple(each._replace(file=str(folder / each.file)) for each in examples)
    works = run_all(
        tmp_path, [str(folder / "node_modules/.bin/tsx")], in_folder, {"PATH": os.environ["PATH"]}, HANGS_AFTER
    )
    result = Result(
        program=f"examples of `@anthropic-ai/sdk` for TypeScript {TYPESCRIPT}",
        run=f"the seven for managed agents, {ON_CLAUDE_CODE}",
        passed=sum(works),
        total=len(works),
        when=TODAY,
    )
    check_result("anthropic-typescript-examples", result)
