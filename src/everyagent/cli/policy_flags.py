"""Parses the tool policy flags of `everyagent run`: `--ask bash --deny docs/all`."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from everyagent.cli.exit_codes import CliFailure, ExitCode
from everyagent.model.policies import ServerPolicies, ToolPolicies, Verdict

ALL = "all"


def tool_policies(named: Mapping[Verdict, Sequence[str]]) -> ToolPolicies:
    policies = ToolPolicies()
    seen: set[str] = set()
    for verdict, names in named.items():
        for name in names:
            if name in seen:
                raise CliFailure(
                    f"{name} was given twice. Use one of --allow, --ask and --deny for a tool.", ExitCode.USAGE
                )
            seen.add(name)
            policies = _with(policies, name, verdict)
    return policies


def _with(policies: ToolPolicies, name: str, verdict: Verdict) -> ToolPolicies:
    server, slash, tool = name.rpartition("/")
    if name == ALL:
        return replace(policies, default=verdict)
    if not slash:
        return replace(policies, tools={**policies.tools, name: verdict})
    known = policies.mcp.get(server, ServerPolicies())
    known = replace(known, default=verdict) if tool == ALL else replace(known, tools={**known.tools, tool: verdict})
    return replace(policies, mcp={**policies.mcp, server: known})
