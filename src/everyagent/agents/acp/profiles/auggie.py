"""Auggie, by Augment Code."""

from everyagent.agents.acp.profile import NpmPackage, Profile

PROFILE = Profile(
    name="auggie",
    title="Auggie",
    npm=NpmPackage(package="@augmentcode/auggie", version="0.36.0", member="package/augment.mjs"),
    command="auggie",
    arguments=("--acp",),
    passed=("AUGMENT_SESSION_AUTH", "GITHUB_API_TOKEN"),
    keys=("AUGMENT_SESSION_AUTH",),
    logins=(".augment/session.json",),
    login_hint="Run `everyagent agents login auggie`.",
    native_homes=(".augment",),
    model_argument="--model",
    gaps=("Tested up to its login only.",),
)
