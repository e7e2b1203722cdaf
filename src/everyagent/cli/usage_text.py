"""Formats token counts and costs."""

from everyagent.model.usage import Usage


def tokens(usage: Usage | None) -> str:
    total, space, parts = (usage.in_words() if usage else "").partition(" ")
    return f"{total} tokens{space}{parts}" if total else ""


def cost(dollars: float | None) -> str:
    return f"${dollars:.4f}" if dollars else ""
