"""Attributes of spans by the conventions of OpenTelemetry for generative AI; others begin with `everyagent`."""

from typing import Final

import msgspec

from everyagent.model.items import Item, text_of
from everyagent.model.usage import Usage
from everyagent.telemetry.span import Attribute

#: Content in an attribute is cut to this.
MOST_CHARS: Final = 16 << 10
_PROVIDERS: Final = {"claude": "anthropic", "codex": "openai", "gemini": "gcp.gemini", "vibe": "mistral_ai"}


def provider_of(agent: str, model: str | None) -> str:
    """The provider of an agent's models, or the one that the model's name begins with, else the agent's name."""
    before, slash, _ = (model or "").partition("/")
    return _PROVIDERS.get(agent) or (before if slash and before else agent)


def usage_attributes(usage: Usage | None) -> dict[str, Attribute]:
    """The conventions count cached tokens among those of the input."""
    if usage is None:
        return {}
    read, written = usage.cache_read_tokens, usage.cache_write_tokens
    attributes: dict[str, Attribute] = {
        "gen_ai.usage.input_tokens": usage.input_tokens + read + written,
        "gen_ai.usage.output_tokens": usage.output_tokens,
    }
    if read:
        attributes["gen_ai.usage.cache_read.input_tokens"] = read
    if written:
        attributes["gen_ai.usage.cache_creation.input_tokens"] = written
    return attributes


def given(**attributes: Attribute | None) -> dict[str, Attribute]:
    """The attributes that are not None, with dots in place of `__`."""
    return {name.replace("__", "."): value for name, value in attributes.items() if value is not None}


def cut(text: str) -> str:
    return text if len(text) <= MOST_CHARS else text[: MOST_CHARS - 1] + "…"


def message_json(items: list[Item]) -> str:
    """Messages in the form of the conventions."""
    found = [
        {"role": item.role or "assistant", "parts": [{"type": "text", "content": cut(text)}]}
        for item in items
        if (text := text_of(item))
    ]
    return msgspec.json.encode(found).decode()
