"""Messages of both APIs, as they wait in the log."""

import msgspec
import pytest

from everyagent.model.sessions import SendMessage
from everyagent.sessions.machine.messages import InputMessage, Submission, actor_of, entries_of, is_single


@pytest.mark.parametrize("managed", [None, msgspec.Raw(b'{"type":"sent","events":[]}')], ids=["universal", "managed"])
def test_a_message_that_waits_is_read_as_it_was_written(managed: msgspec.Raw | None) -> None:
    entry = InputMessage(item_id="itm_1", message=SendMessage(message="Hello"))
    stored = Submission(entries=[entry], managed=managed).as_input()
    assert entries_of(stored) == [entry]
    assert actor_of(stored) is msgspec.UNSET
    assert is_single(stored) == (managed is None)
