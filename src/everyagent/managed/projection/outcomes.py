"""Outcomes of a session: evaluated after each turn until the rubric is met."""

from everyagent.managed.projection.commands import Evaluated
from everyagent.managed.projection.events import EvaluationEnd, EvaluationOngoing, EvaluationStart, ModelRequestUsage
from everyagent.managed.projection.state import SessionOutcome
from everyagent.managed.projection.teller import Teller
from everyagent.managed.sessions.client_events import UserDefineOutcome

DEFAULT_ITERATIONS = 3


class Outcomes:
    def __init__(self, teller: Teller) -> None:
        self._teller = teller

    def define(self, event: UserDefineOutcome, item: str) -> None:
        """Starts a new outcome and abandons the one before."""
        self.leave("interrupted", "Another outcome was defined.")
        self._teller.state.outcome = SessionOutcome(
            id=event.outcome_id,
            description=event.description,
            item=item,
            max_iterations=event.max_iterations or DEFAULT_ITERATIONS,
            result="running",
        )

    def start(self) -> bool:
        """Starts an evaluation after a successful turn, if there is an outcome."""
        teller, outcome = self._teller, self._teller.state.outcome
        if outcome is None:
            return False
        outcome.result = "evaluating"
        outcome.evaluating = teller.new_id()
        teller.tell(
            EvaluationStart(
                id=outcome.evaluating, processed_at=teller.time, outcome_id=outcome.id, iteration=outcome.iteration
            )
        )
        return True

    def go_on(self, judge: str | None) -> None:
        teller, outcome = self._teller, self._teller.state.outcome
        if outcome and outcome.evaluating:
            outcome.judge = judge
            teller.tell(
                EvaluationOngoing(
                    id=teller.new_id(), processed_at=teller.time, outcome_id=outcome.id, iteration=outcome.iteration
                )
            )

    def judged(self, verdict: Evaluated) -> bool:
        """Ends an evaluation. Returns whether the agent tries again."""
        outcome = self._teller.state.outcome
        if outcome is None or not outcome.evaluating:
            return False
        self._teller.state.cost_usd += verdict.cost_usd
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
        outcome = self._teller.state.outcome
        if outcome is None:
            return
        if outcome.evaluating:
            self._close_span(outcome, result, explanation, ModelRequestUsage())
        self._settle(outcome, result, explanation)

    def _close_span(self, outcome: SessionOutcome, result: str, explanation: str, usage: ModelRequestUsage) -> None:
        teller = self._teller
        teller.tell(
            EvaluationEnd(
                id=teller.new_id(),
                processed_at=teller.time,
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
        state = self._teller.state
        outcome.result, outcome.explanation = result, explanation
        outcome.completed_at = self._teller.at
        state.outcomes.append(outcome)
        state.outcome = None
