"""Looking at all sessions in turn: one that cannot be looked at keeps no other from its turn."""

from collections.abc import Generator
from contextlib import contextmanager

from everyagent.logs import get_logger

logger = get_logger(__name__)


@contextmanager
def faults_of(session_id: str) -> Generator[None]:
    """Logs what the look at this session raises."""
    try:
        yield
    except Exception:
        logger.exception("the check of a session failed", session=session_id)
