"""Droid, by Factory."""

from everyagent.agents.acp.profile import NpmPackage, Profile

PROFILE = Profile(
    name="droid",
    title="Droid",
    npm=NpmPackage(package="@factory/cli-{platform}", version="0.225.2", member="package/bin/droid", whole=False),
    command="droid",
    arguments=("exec", "--output-format", "acp"),
    prefixes=("FACTORY_",),
    keys=("FACTORY_API_KEY",),
    login_hint="Set FACTORY_API_KEY, or run `everyagent agents login droid`.",
    native_homes=(".factory",),
    gaps=("Tested up to its login only.",),
)
