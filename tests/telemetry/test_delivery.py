"""The delivery of spans to a collector that takes some of them, none, or none for now."""

from collections.abc import Sequence

import pytest
from structlog.testing import capture_logs

from everyagent.model.trace_context import TraceContext
from everyagent.telemetry.delivery import TRIES, Delivery
from everyagent.telemetry.otlp import Outcome
from everyagent.telemetry.span import Span

AWAY: tuple[Outcome, int | None] = ("away", 503)


def span(name: str) -> Span:
    context = TraceContext("1" * 32, "2" * 16)
    return Span(name=name, context=context, parent=None, start=0, end=1, attributes={})


class Scripted:
    """`answers` are those to a span's name, the last of which is repeated."""

    def __init__(self, **answers: list[tuple[Outcome, int | None]]) -> None:
        self.answers = answers
        self.sent: list[str] = []

    def send(self, spans: Sequence[Span]) -> tuple[Outcome, int | None]:
        self.sent.append(spans[0].name)
        answers = self.answers[spans[0].name]
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def close(self) -> None:
        return


async def delivered(sender: Scripted, *names: str) -> tuple[Delivery, list[float]]:
    pauses = list[float]()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    delivery = Delivery(sender, sleep)
    for name in names:
        await delivery.send([span(name)])
    return delivery, pauses


async def test_spans_that_always_fail_are_left_out_and_the_next_ones_are_sent() -> None:
    sender = Scripted(poison=[("failed", 500)], good=[("sent", 200)])
    delivery, pauses = await delivered(sender, "poison", "good")
    assert sender.sent == ["poison"] * TRIES + ["good"]
    assert delivery.left_out == 1
    assert 60 < sum(pauses) < 600


async def test_a_collector_that_is_away_is_waited_for_however_long_it_takes() -> None:
    sender = Scripted(good=[*[AWAY] * 60, ("sent", 200)])
    delivery, _ = await delivered(sender, "good")
    assert (len(sender.sent), delivery.left_out) == (61, 0)


@pytest.mark.parametrize("outcome", ["refused", "away"])
async def test_many_failures_make_few_log_lines(outcome: Outcome) -> None:
    answer: tuple[Outcome, int | None] = (outcome, 400)
    sender = Scripted(bad=[*[answer] * 100, ("sent", 200)])
    with capture_logs() as lines:
        await delivered(sender, *["bad"] * (100 if outcome == "refused" else 1))
    assert [line["log_level"] for line in lines] == ["warning"] + ["info"] * (outcome == "away")
