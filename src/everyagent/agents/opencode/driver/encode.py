"""Commands into the bodies of native requests. Pure: what has to be read from disk was read before."""

import msgspec

from everyagent.agents.adapter import Launch
from everyagent.agents.opencode.policy import modes
from everyagent.errors import AgentFailed


def create(launch: Launch) -> bytes:
    """A title of the user's own keeps OpenCode from asking a model for one."""
    return msgspec.json.encode({"title": launch.title} if launch.title else {})


def prompt(launch: Launch, parts: list[dict[str, object]]) -> bytes:
    """All choices go along: what was changed since the last turn holds from this one on."""
    body: dict[str, object] = {"parts": parts}
    agent = modes.native(launch.permission_mode, launch.agent_mode).agent
    if agent:
        body["agent"] = agent
    if launch.model:
        body["model"] = model(launch.model)
    if launch.variant:
        body["variant"] = launch.variant
    if launch.system_prompt:
        body["system"] = launch.system_prompt
    return msgspec.json.encode(body)


def model(name: str) -> dict[str, str]:
    provider, _, model = name.partition("/")
    if not model:
        raise AgentFailed(f"OpenCode's models are named provider/model, and {name!r} is not. Choose one of its list.")
    return {"providerID": provider, "modelID": model}


def text(words: str) -> dict[str, object]:
    return {"type": "text", "text": words}


def file(url: str, mime: str, name: str) -> dict[str, object]:
    return {"type": "file", "mime": mime, "filename": name, "url": url}
