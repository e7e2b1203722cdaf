"""The outcome of a tool call."""

from typing import NamedTuple


class ToolOutcome(NamedTuple):
    output: str
    is_error: bool = False
    exit_code: int | None = None
    duration_ms: int | None = None
    files: tuple[dict[str, object], ...] = ()

    def fields(self) -> dict[str, object]:
        return {**self._asdict(), "files": list(self.files)}
