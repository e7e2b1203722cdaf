"""Cline."""

from everyagent.agents.acp.profile import NpmPackage, Profile

PROFILE = Profile(
    name="cline",
    title="Cline",
    npm=NpmPackage(package="@cline/cli-{platform}", version="3.0.65", member="package/bin/cline"),
    command="cline",
    arguments=("--acp",),
    logins=(".cline/data/settings/providers.json",),
    login_hint="Run `everyagent agents login cline`.",
    native_homes=(".cline",),
    gaps=(
        "Tested up to its login only. Over ACP it wants an account of Cline or ChatGPT: a provider's API key is not "
        "enough.",
    ),
)
