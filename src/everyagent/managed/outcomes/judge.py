"""Judges outcomes with a second session of the same agent, in the same folder, by the rubric."""

import anyio
import msgspec

from everyagent.errors import Conflict, EveryagentError, SessionNotFound
from everyagent.log.log import EventQuery, SessionRecord
from everyagent.log.projections import ProjectionRecord
from everyagent.logs import get_logger
from everyagent.managed.outcomes.verdict import Judgement, OutcomeVerdict, judge_prompt, verdict_in
from everyagent.managed.projection.commands import CommandFrame, Evaluated, Evaluating
from everyagent.managed.projection.events import TYPE_NUMBERS, ModelRequestUsage
from everyagent.managed.projection.projector import Projector
from everyagent.managed.projection.state import SessionOutcome
from everyagent.managed.resources.vaults.credentials import CredentialStore
from everyagent.managed.sessions.client_events import UserDefineOutcome
from everyagent.managed.sessions.presentation import document_of, state_of
from everyagent.managed.sessions.prompts import Prompts
from everyagent.model.ids import new_id
from everyagent.model.sessions import CreateSession, SendMessage
from everyagent.sessions import Sessions
from everyagent.sessions.launch.config import config_of
from everyagent.sessions.machine.inputs import Batch
from everyagent.sessions.machine.messages import InputMessage, Submission
from everyagent.sessions.machine.projection import Projection

#: The metadata key with which a judge's session names the judged one.
JUDGES = "everyagent.judges"
_DEFINED = frozenset({TYPE_NUMBERS["user.define_outcome"]})
_MESSAGES = frozenset({TYPE_NUMBERS["agent.message"]})
_RECENT_MESSAGES = 20
_MODE = "plan"
logger = get_logger(__name__)


class _Message(msgspec.Struct):
    content: list[dict[str, object]]


class OutcomeJudge:
    def __init__(self, sessions: Sessions, prompts: Prompts, credentials: CredentialStore) -> None:
        self._sessions = sessions
        self._credentials = credentials
        self._projected = sessions.projected
        self._prompts = prompts

    async def turn_over(self, session_id: str) -> None:
        """Judges the session if it waits for that; then it continues or becomes idle."""
        outcome = state_of(await self._projected.log.projection(session_id)).outcome
        if outcome is None or outcome.evaluating is None:
            return
        try:
            judgement = await self._judge(session_id, outcome)
        except EveryagentError as error:
            judgement = _failed(session_id, error)
        if judgement is not None:
            await self._report(session_id, outcome, judgement)

    async def _judge(self, session_id: str, outcome: SessionOutcome) -> Judgement | None:
        """None if the evaluation was ended otherwise before there was a verdict."""
        record = await self._projected.log.session(session_id)
        rubric = await self._rubric(record, outcome)
        message = SendMessage(message=judge_prompt(outcome.description, await self._recent_messages(record), rubric))
        if outcome.judge is not None:
            await self._end(outcome.judge)
        judge = new_id("sess_")
        if not await self._submit(session_id, outcome, _batch(Evaluating(judge=judge))):
            return None
        try:
            await self._create_judge(judge, record)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch, record, outcome, tasks.cancel_scope)
                try:
                    judgement = await verdict_in(self._sessions, judge, message)
                except EveryagentError as error:
                    judgement = _failed(session_id, error)
                tasks.cancel_scope.cancel()
                return judgement
        finally:
            with anyio.CancelScope(shield=True):
                await self._end(judge)
        return None

    async def _watch(self, record: SessionRecord, outcome: SessionOutcome, judging: anyio.CancelScope) -> None:
        """Cancels the judging when the session does not wait for it any more."""
        try:
            projection = await self._projected.log.projection(record.session_id)
            async for chunk in self._projected.tail(record.number, projection.head):
                if chunk is not None:
                    projection = await self._projected.log.projection(record.session_id)
                if not _evaluates(projection, outcome):
                    break
        except SessionNotFound as error:
            logger.info("the session was deleted while it was judged", session=record.session_id, why=str(error))
        judging.cancel()

    async def _end(self, judge: str) -> None:
        """Ends a judge, also one of an earlier daemon."""
        try:
            await self._sessions.terminate(judge)
        except EveryagentError as error:
            logger.info("could not end the session of a judge", session=judge, why=str(error))

    async def _create_judge(self, judge: str, record: SessionRecord) -> None:
        catalog = await self._sessions.agents.adapter(record.agent).catalog()
        careful = any(mode.id == _MODE for mode in catalog.permission_modes)
        document = document_of(await self._projected.log.projection(record.session_id))
        await self._sessions.create(
            judge,
            CreateSession(
                agent=record.agent,
                model=record.model,
                variant=record.variant,
                directory=config_of(record).directory,
                env=(await self._credentials.given_by(document.vault_ids)).env,
                permission_mode=_MODE if careful else None,
                allowed_hosts=config_of(record).allowed_hosts,
                title=f"Judges {record.shown_title or record.session_id}",
                metadata={JUDGES: record.session_id},
            ),
        )

    async def _report(self, session_id: str, outcome: SessionOutcome, judgement: Judgement) -> None:
        verdict = judgement.verdict
        result = verdict.result
        if result == "needs_revision" and outcome.iteration + 1 >= outcome.max_iterations:
            result = "max_iterations_reached"
        item = new_id("itm_") if result == "needs_revision" else None
        evaluated = Evaluated(
            result=result,
            explanation=verdict.explanation,
            usage=judgement.usage,
            cost_usd=judgement.cost_usd,
            item=item,
        )
        text = f"Your work was judged and is not good enough yet:\n\n{verdict.explanation}\n\nImprove it."
        entry = InputMessage(item_id=item, message=SendMessage(message=text)) if item else None
        await self._submit(session_id, outcome, _batch(evaluated, Submission(entries=[entry]) if entry else None))

    async def _submit(self, session_id: str, outcome: SessionOutcome, batch: Batch) -> bool:
        """Submits a batch; False if the evaluation is over, since the session was interrupted or has ended."""

        def plan(projection: Projection) -> Batch:
            assert isinstance(projection, Projector)
            current = projection.state.outcome
            if current is None or current.evaluating != outcome.evaluating:
                raise Conflict("This evaluation is over.")
            return batch

        try:
            await self._projected.submit(session_id, plan)
        except Conflict as error:
            logger.info("dropped the result of an evaluation that is over", session=session_id, why=str(error))
            return False
        return True

    async def _rubric(self, record: SessionRecord, outcome: SessionOutcome) -> str:
        page = await self._projected.event_page(record.number, EventQuery(session=0, types=_DEFINED, order="desc"))
        for event in page.events:
            defined = msgspec.json.decode(event.body, type=UserDefineOutcome)
            if defined.outcome_id == outcome.id:
                return await self._prompts.rubric(defined)
        raise Conflict("The definition of the outcome was not found.")

    async def _recent_messages(self, record: SessionRecord) -> str:
        """The agent's latest messages, oldest first."""
        query = EventQuery(session=0, types=_MESSAGES, order="desc", limit=_RECENT_MESSAGES)
        page = await self._projected.event_page(record.number, query)
        messages = [msgspec.json.decode(event.body, type=_Message) for event in reversed(page.events)]
        return "\n\n".join(str(block.get("text", "")) for message in messages for block in message.content)


def _failed(session_id: str, error: Exception) -> Judgement:
    logger.warning("could not judge an outcome", session=session_id, error=str(error))
    return Judgement(OutcomeVerdict("failed", f"It could not be judged: {error}"), ModelRequestUsage(), 0.0)


def _batch(command: Evaluating | Evaluated, submission: Submission | None = None) -> Batch:
    cause = msgspec.json.encode(CommandFrame(managed=command))
    return Batch(frame=cause, direction="daemon", submission=submission)


def _evaluates(projection: ProjectionRecord, outcome: SessionOutcome) -> bool:
    current = state_of(projection).outcome
    return current is not None and current.evaluating == outcome.evaluating
