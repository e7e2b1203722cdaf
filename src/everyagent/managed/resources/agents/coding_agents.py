"""Chooses the coding agent, model and variant of a managed session."""

import re

from everyagent.agents.adapter import Catalog

#: The metadata key with which an agent names its coding agent.
KEY = "everyagent.agent"
_BY_MODEL = (
    ("claude", re.compile(r"claude-")),
    ("codex", re.compile(r"gpt-|o\d|codex")),
    ("amp", re.compile(r"amp")),
    ("mock", re.compile(r"mock")),
    ("gemini", re.compile(r"gemini-")),
    ("qwen", re.compile(r"qwen")),
    ("kimi", re.compile(r"kimi-")),
    ("opencode", re.compile(r"[^/]+/.")),
)


def coding_agent(model: str, metadata: dict[str, str], default: str) -> str:
    """The agent named in the metadata, else the one that the model's id suggests, else the server's default."""
    named = metadata.get(KEY)
    return named or next((agent for agent, pattern in _BY_MODEL if pattern.match(model)), default)


def model_for(catalog: Catalog, model: str) -> str | None:
    """The model if the agent supports it; None for the agent's own default."""
    known = catalog.open_models or any(each.id == model for each in catalog.models)
    return model if known else None


def variant_for(catalog: Catalog, model: str | None, effort: str | None) -> str | None:
    """The effort as a variant of the model, if the model has it."""
    chosen = model or catalog.default_model
    known = any(each.id == chosen and effort in each.variants for each in catalog.models)
    return effort if known else None
