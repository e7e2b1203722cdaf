"""Judges outcomes."""


class Judging:
    async def turn_over(self, session_id: str) -> None:
        return None
