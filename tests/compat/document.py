"""Makes docs/compatibility.md from the results: `python -m tests.compat.document`."""

from pathlib import Path

from tests.compat.results import Result, results

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"
_TOP = """# Compatibility

Programs that others wrote, and what came of running them against the daemon. "In `make test`" means that tests
run the program, or the calls that are named, and check the row once they have passed; the rest was run by hand on the
date that is given. This page is made from the files in [`tests/compat/results/`](../tests/compat/results).

| program | what was run | result | when |
|---|---|---|---|
"""
_DIFFERENCES = """
## Differences that stay

* sandbox-agent 0.1.11: `agentVersion` of a session and `oauth` of an MCP server have no effect. Variables of
  `bearerTokenEnvVar` and `envHeaders` are those of the session, never the daemon's. Origins of web pages have to be
  allowed with `serve --allowed-origin`.
* [Managed Agents](managed-agents.md) lists the differences to Anthropic's service.

## Not run

Editors themselves, the cookbook's notebooks for MongoDB Atlas and Slack, the examples of Anthropic's SDK for TypeScript
(no complete run yet), and sandbox-agent's inspector, which is in no package. The tests of `@anthropic-ai/sdk` and of
`anthropic-sdk-go` are those of the versions above, not the newest.
"""


def page() -> str:
    found = results()
    refused = "".join(_refused(result) for result in found if result.refusals)
    return _TOP + "".join(_row(result) for result in found) + refused + _DIFFERENCES


def _row(result: Result) -> str:
    outcome = result.outcome or f"{result.passed} of {result.total}"
    return f"| {result.program} | {result.run} | {outcome} | {result.when} |\n"


def _refused(result: Result) -> str:
    lines = "".join(f"* {refusal.count}: {refusal.reason}\n" for refusal in result.refusals)
    title = f"## {result.program}: {result.total - result.passed} of {result.total} fail"
    return f"\n{title}\n\nEach wants something that is refused, or done otherwise, on purpose:\n\n{lines}"


if __name__ == "__main__":
    PAGE.write_text(page())
