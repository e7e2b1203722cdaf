"""Formats token counts and costs."""

from everyagent.model.usage import Usage


def tokens(usage: Usage | None) -> str:
    if usage is None or not (usage.input_tokens or usage.output_tokens):
        return ""
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    extra = f" (+{cached:,} cached)" if cached else ""
    return f"{usage.input_tokens:,} in{extra}, {usage.output_tokens:,} out tokens"


def cost(dollars: float | None) -> str:
    return f"${dollars:.4f}" if dollars else ""
