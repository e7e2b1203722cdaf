"""The outcome of a commit to the log. Used by the actor."""

from asyncio import Future

from everyagent.errors import Unavailable


def commit_failure(done: "Future[None]") -> Exception | None:
    """The reason why a commit is not known to be in the log. One that was cancelled may be there or not."""
    if done.cancelled():
        return Unavailable("The commit was cancelled. Try again.")
    error = done.exception()
    return error if error is None or isinstance(error, Exception) else Unavailable(f"The commit failed: {error!r}")
