"""pi, by its ACP adapter `pi-acp`, which starts the program `pi`."""

from everyagent.agents.acp.profile import NpmPackage, Profile

PROFILE = Profile(
    name="pi",
    title="pi",
    npm=NpmPackage(
        package="pi-acp", version="0.0.34", member="package/node_modules/pi-acp/dist/index.js", dependencies=True
    ),
    command="pi-acp",
    passed=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"),
    prefixes=("PI_",),
    keys=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"),
    logins=(".pi/agent/auth.json", ".pi/agent/models.json"),
    login_hint="Run `everyagent agents login pi`, or set a provider's API key.",
    native_homes=(".pi",),
    notices=("Retry finished, ",),
    retry=r"Retrying \(attempt \d",
    mcp=False,
    local_mcp=False,
    gaps=(
        "It never asks for permission, in any mode. It has no MCP servers and no tool policies.",
        "It needs the program `pi` on the PATH, which is not installed with it.",
        "A rejected API key ends the turn without a word.",
    ),
)
