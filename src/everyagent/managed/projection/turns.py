"""Status and errors of turns. Errors are held back until an event shows whether the turn survived them."""

from collections.abc import Sequence

from everyagent.managed.projection.emitter import Emitter
from everyagent.managed.projection.events import SessionUsage, Stop, StopDetails
from everyagent.managed.projection.failures import Retry, held
from everyagent.managed.projection.outcomes import Outcomes
from everyagent.managed.projection.spans import Spans
from everyagent.managed.projection.state import HeldError, State, Thread
from everyagent.managed.projection.statuses import Statuses
from everyagent.managed.projection.threads import SubagentThreads
from everyagent.managed.projection.tools import Tools
from everyagent.model.events import Error, ModelResponded, SessionEnded, TurnEnded
from everyagent.model.parts import Json, Object
from everyagent.model.usage import Usage

_LIMIT_REACHED = HeldError(
    type="tool_use_limit_reached_error", message="The agent made as many steps as it may make in one turn."
)
#: The model was changed to one without a price, or the price was removed since the budget was set.
_COST_UNKNOWN = HeldError(
    type="unknown_error",
    message="What this turn cost is not known, so the budget does not count it: there is no price for its model.",
)
#: Errors that are held back at most.
_MOST_HELD = 20


class Turns:
    def __init__(
        self,
        emitter: Emitter,
        statuses: Statuses,
        tools: Tools,
        threads: SubagentThreads,
        outcomes: Outcomes,
        spans: Spans,
    ) -> None:
        self._emitter = emitter
        self._spans = spans
        self._statuses = statuses
        self._tools = tools
        self._threads = threads
        self._outcomes = outcomes
        self._done = False
        self._failures: list[HeldError] = []  # of a turn that ended in this frame; the session may end with them

    def start(self) -> None:
        self._settle_errors()
        self._emitter.state.turn = True
        self._emitter.state.stopping = False
        self._done = False
        self._statuses.run()
        self._spans.open()

    def error(self, data: Error, thread: Thread | None) -> None:
        if data.retry and thread:
            self._statuses.fail(held(data), "retrying")
            self._threads.reschedule(thread)
        elif data.retry:
            self.survived()
            self._spans.close(None, failed=True)
            self._statuses.reschedule(held(data))
        else:
            errors = [*self._take_errors(), held(data)]
            if len(errors) > _MOST_HELD:
                self._statuses.fail(errors.pop(0), "retrying")
            self._emitter.state.errors = errors

    def survived(self) -> None:
        """The turn went on, so no held error was fatal."""
        self._fail(self._take_errors(), "retrying")

    def go_on(self) -> None:
        """The agent works again after a retry."""
        self.survived()
        if self._emitter.state.status == "rescheduling":
            self._statuses.run()
            self._spans.open()

    def speak(self, thread: Thread | None) -> None:
        """A message has begun, so a model request is open."""
        if self._emitter.state.turn:
            self._spans.open(thread)

    def responded(self, data: ModelResponded, thread: Thread | None) -> None:
        state = self._emitter.state
        state.spent += data.usage
        state.spent_usd += data.cost_usd or 0.0
        self.check_budget()
        self._spans.responded(data.usage, thread)

    def end(self, data: TurnEnded) -> None:
        """The turn has ended. The session still requires actions if its agent ended with its daemon.

        Errors are emitted then, too: those of a failed turn at the end of the frame, since the session may end in it.
        """
        state = self._emitter.state
        failed = data.stop_reason == "error"
        self._spans.close(None if state.spent != Usage() else data.usage, failed=failed)
        self._count(state, data)
        self._tools.close(but=set(state.actions))
        self._threads.rest()
        state.turn, state.taken = False, []
        errors = self._take_errors()
        if failed:
            errors = errors or [HeldError(type="unknown_error", message=data.error or "The turn failed.")]
        else:
            self._fail(errors, "retrying")
        if state.actions:
            state.errors = errors if failed else []
            return
        state.grants = []
        if failed:
            self._failures = errors
        self._rest(data)

    def end_session(self, data: SessionEnded) -> None:
        errors, self._failures = [*self._failures, *self._take_errors()], []
        self.settle()
        self._outcomes.leave("interrupted", "The session ended.")
        if data.reason == "error":
            message = data.message or "The agent ended the session with an error."
            self._fail(errors or [HeldError(type="unknown_error", message=message)], "terminal")
        self._spans.close(None, failed=data.reason == "error")
        self._statuses.end()

    def done(self) -> None:
        """Idle at the end of the frame, unless something is queued."""
        self._done = True

    def settle(self) -> None:
        """At the end of a frame: idle if the turn has failed, or is done and nothing is queued."""
        self._settle_errors()
        if self._failures:
            self._fail_for_good()
            self._statuses.rest(Stop(type="retries_exhausted"))
        done, self._done = self._done, False
        state = self._emitter.state
        if done and not state.queued and not state.roster_at_work:
            self._statuses.rest(Stop(type="end_turn"))

    def check_budget(self) -> None:
        limit = self._tools.document.limit_usd
        state = self._emitter.state
        state.over_budget = limit is not None and state.total_usd >= limit

    def _settle_errors(self) -> None:
        """No turn can survive an error that came without one."""
        if not self._emitter.state.turn:
            self._fail(self._take_errors(), "exhausted")

    def _take_errors(self) -> list[HeldError]:
        """The held errors, which are not held any more. An earlier version has held one, in `held`."""
        state = self._emitter.state
        errors = [state.held, *state.errors] if state.held else state.errors
        state.held, state.errors = None, []
        return errors

    def _fail_for_good(self) -> None:
        errors, self._failures = self._failures, []
        self._fail(errors, "exhausted")

    def _fail(self, errors: Sequence[HeldError], retry: Retry) -> None:
        for error in errors:
            self._statuses.fail(error, retry)

    def _rest(self, data: TurnEnded) -> None:
        state = self._emitter.state
        if state.over_budget or data.stop_reason == "budget":
            self._fail_for_good()
            self._outcomes.leave("failed", "The budget was reached.")
            self._emit_usage()
            self._statuses.rest(Stop(type="budget_reached"))
            return
        match data.stop_reason:
            case "error":
                self._outcomes.leave("failed", data.error or "The turn failed.")
            case "refusal":
                self._outcomes.leave("failed", "The model refused.")
                self._statuses.rest(Stop(type="refusal"), StopDetails(explanation=data.error))
            case "interrupted" | "terminated":
                self._outcomes.leave("interrupted", "The turn was interrupted.")
                self.done()
            case "max_turns":
                self._statuses.fail(_LIMIT_REACHED, "exhausted")
                self._outcomes.leave("failed", _LIMIT_REACHED.message)
                self._statuses.rest(Stop(type="retries_exhausted"))
            case _:
                if not self._outcomes.start():
                    self.done()

    def _count(self, state: State, data: TurnEnded) -> None:
        """Counts the turn's usage and cost as the agent reports them, else as the sum of its requests."""
        if data.usage and data.cost_usd is None and self._tools.document.limit_usd is not None:
            self._statuses.fail(_COST_UNKNOWN, "retrying")
        state.usage += data.usage or state.spent
        state.cost_usd += state.spent_usd if data.cost_usd is None else data.cost_usd
        state.spent, state.spent_usd = Usage(), 0.0
        self.check_budget()

    def _emit_usage(self) -> None:
        emitter, document = self._emitter, self._tools.document
        budget: Json = document.budget
        emitter.emit(
            SessionUsage(id=emitter.new_id(), processed_at=emitter.time, usage=usage_of(emitter.state), budget=budget)
        )


def usage_of(state: State, *, roster: bool = True) -> Object:
    """The usage of a session so far, as the API shows it, or without its roster's that of its own thread."""
    usage, cost = state.usage + state.spent, state.cost_usd + state.spent_usd
    if roster:
        usage, cost = usage + state.roster_usage, state.total_usd
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": usage.cache_write_tokens},
        "active_seconds": state.active_micros / 1_000_000,
        "list_cost": {"amount": f"{cost * 100:.4f}", "currency": "USD"},
    }
