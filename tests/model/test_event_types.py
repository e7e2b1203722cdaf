"""Encoding and JSON Schema of events, and decoding of unknown types."""

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everyagent.model.decoding import UnknownData, decode_event
from everyagent.model.events import DATA_BY_TYPE, EVENT_TYPES, TYPE_NUMBERS, Envelope, Event, EventData, SessionUpdated
from everyagent.model.usage import Usage
from everyagent.testing.sample import sample_session

SAMPLES = {event.type: event for event in sample_session()}


def any_json(kind: type) -> dict[str, object]:
    if kind is object:
        return {"description": "Any JSON value."}
    raise NotImplementedError


def test_the_sample_session_has_every_event_type():
    assert SAMPLES.keys() == DATA_BY_TYPE.keys()


@pytest.mark.parametrize("event", sample_session(), ids=lambda event: f"{event.sequence} {event.type}")
def test_an_event_survives_encoding_and_decoding(event: Event):
    assert decode_event(msgspec.json.encode(event)) == event


@pytest.mark.parametrize("event", SAMPLES.values(), ids=SAMPLES.keys())
def test_an_encoded_event_ends_with_its_raw_field(event: Event):
    assert msgspec.json.encode(event).endswith(b',"raw":null}')


@pytest.mark.parametrize("event", SAMPLES.values(), ids=SAMPLES.keys())
def test_an_event_matches_its_json_schema(event: Event):
    schema = msgspec.json.schema(Envelope[type(event.data)], schema_hook=any_json)
    validator = jsonschema_rs.validator_for(schema)
    body = msgspec.json.decode(msgspec.json.encode(event))
    assert [error.message for error in validator.iter_errors(body)] == []
    del body["sequence"]
    assert not validator.is_valid(body)


def test_all_events_match_the_json_schema_document():
    _, components = msgspec.json.schema_components([Envelope[data] for data in EVENT_TYPES], schema_hook=any_json)
    assert {data.__name__ for data in EVENT_TYPES} <= components.keys()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(kind=st.text(max_size=20).filter(lambda kind: kind not in DATA_BY_TYPE), data=json_values)
def test_an_event_of_an_unknown_type_decodes_with_its_data(kind: str, data: object):
    body = msgspec.json.decode(msgspec.json.encode(sample_session()[0]))
    event = decode_event(msgspec.json.encode(body | {"type": kind, "data": data, "new_field": 1}))
    assert event.data == UnknownData(data)  # pyright: ignore[reportArgumentType]


def test_unknown_fields_of_a_known_event_are_ignored():
    body = msgspec.json.decode(msgspec.json.encode(SAMPLES["turn.started"]))
    body["data"]["mood"] = "good"
    assert decode_event(msgspec.json.encode(body)) == SAMPLES["turn.started"]


def test_type_numbers_are_dense_and_unique():
    assert sorted(TYPE_NUMBERS.values()) == list(range(1, len(EVENT_TYPES) + 1))


def test_stored_type_numbers_do_not_change():
    assert list(TYPE_NUMBERS) == [
        *("session.started", "session.ended", "session.updated", "turn.started", "turn.ended"),
        *("item.started", "item.delta", "item.completed", "permission.requested", "permission.resolved"),
        *("question.requested", "question.resolved", "error", "agent.unparsed", "tool.requested", "tool.resolved"),
        "model.responded",
    ]


def test_an_update_has_only_the_changed_fields():
    data: EventData = SessionUpdated(model=None)
    assert msgspec.json.encode(data) == b'{"model":null}'


usages = st.builds(Usage, **{name: st.integers(0, 10**9) for name in Usage.__struct_fields__})


@given(usages, usages)
def test_usage_adds_up_field_by_field(one: Usage, other: Usage):
    total = one + other
    for name in Usage.__struct_fields__:
        assert getattr(total, name) == getattr(one, name) + getattr(other, name)
    assert one + Usage() == one
