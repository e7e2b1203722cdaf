"""Outcomes of a session: evaluated after each turn until the rubric is met."""

from everyagent.managed.projection.commands import Evaluated
from everyagent.managed.projection.emitter import Emitter
from everyagent.managed.projection.events import EvaluationEnd, EvaluationOngoing, EvaluationStart, ModelRequestUsage
from everyagent.managed.projection.state import SessionOutcome
from everyagent.managed.sessions.client_events import UserDefineOutcome

DEFAULT_ITERATIONS = 3


class Outcomes:
    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    def define(self, event: UserDefineOutcome, item: str) -> None:
        """Starts a new outcome and abandons the one before."""
        self.leave("interrupted", "Another outcome was defined.")
        self._emitter.state.outcome = SessionOutcome(
            id=event.outcome_id,
            description=event.description,
            item=item,
            max_iterations=event.max_iterations or DEFAULT_ITERATIONS,
            result="running",
        )

    def start(self) -> bool:
        """Starts an evaluation after a successful turn, if there is an outcome."""
        emitter, outcome = self._emitter, self._emitter.state.outcome
        if outcome is None:
            return False
        outcome.result = "evaluating"
        outcome.evaluating = emitter.new_id()
        emitter.emit(
            EvaluationStart(
                id=outcome.evaluating, processed_at=emitter.time, outcome_id=outcome.id, iteration=outcome.iteration
            )
        )
        return True

    def go_on(self, judge: str | None) -> None:
        emitter, outcome = self._emitter, self._emitter.state.outcome
        if outcome and outcome.evaluating:
            outcome.judge = judge
            emitter.emit(
                EvaluationOngoing(
                    id=emitter.new_id(), processed_at=emitter.time, outcome_id=outcome.id, iteration=outcome.iteration
                )
            )

    def judged(self, verdict: Evaluated) -> bool:
        """Ends an evaluation. Returns whether the agent tries again."""
        outcome = self._emitter.state.outcome
        if outcome is None or not outcome.evaluating:
            return False
        self._emitter.state.cost_usd += verdict.cost_usd
        self._close_span(outcome, verdict.result, verdict.explanation, verdict.usage)
        if verdict.result == "needs_revision":
            outcome.iteration += 1
            outcome.result = "running"
            outcome.explanation = verdict.explanation
            return True
        self._settle(outcome, verdict.result, verdict.explanation)
        return False

    def leave(self, result: str, explanation: str) -> None:
        """Abandons the outcome, and ends its open evaluation."""
        outcome = self._emitter.state.outcome
        if outcome is None:
            return
        if outcome.evaluating:
            self._close_span(outcome, result, explanation, ModelRequestUsage())
        self._settle(outcome, result, explanation)

    def _close_span(self, outcome: SessionOutcome, result: str, explanation: str, usage: ModelRequestUsage) -> None:
        emitter = self._emitter
        emitter.emit(
            EvaluationEnd(
                id=emitter.new_id(),
                processed_at=emitter.time,
                outcome_id=outcome.id,
                iteration=outcome.iteration,
                outcome_evaluation_start_id=outcome.evaluating or "",
                result=result,
                explanation=explanation,
                usage=usage,
            )
        )
        outcome.evaluating = outcome.judge = None

    def _settle(self, outcome: SessionOutcome, result: str, explanation: str) -> None:
        state = self._emitter.state
        outcome.result, outcome.explanation = result, explanation
        outcome.completed_at = self._emitter.at
        state.outcomes.append(outcome)
        state.outcome = None
