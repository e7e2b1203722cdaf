"""Calls with the client that openapi-python-client made: create, list, send, read events, upload and download.

Run by test_generators.py, beside the generated package. Prints the last event's type.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
import io
import os
import tarfile

from everyagent_api import AuthenticatedClient
from everyagent_api.api.events import list_events
from everyagent_api.api.files import read_file, upload_batch, write_file
from everyagent_api.api.messages import send_message, stream_message
from everyagent_api.api.sessions import create_session, get_session, list_sessions
from everyagent_api.models import CreatedSession, CreateSessionRequest, EventList, SendMessage, SessionPage
from everyagent_api.types import File

client = AuthenticatedClient(base_url=os.environ["URL"], token=os.environ["TOKEN"], raise_on_unexpected_status=True)
request = CreateSessionRequest(agent="mock", title="generated", directory=os.environ["DIRECTORY"])
created = create_session.sync(client=client, body=request)
assert isinstance(created, CreatedSession), created
assert created.healthy is True
session = created.session_id
page = list_sessions.sync(client=client, limit=10)
assert isinstance(page, SessionPage)
assert session in [each.session_id for each in page.sessions]
assert send_message.sync_detailed(session, client=client, body=SendMessage(message="hello")).status_code == 204
streamed = stream_message.sync_detailed(session, client=client, body=SendMessage(message="again"))
assert b"turn.ended" in streamed.content
events = list_events.sync(session, client=client, limit=500)
assert isinstance(events, EventList)
written = write_file.sync(client=client, body=File(io.BytesIO(b"text")), path="a.txt", session_id=session)
assert written.bytes_written == 4, written
archive = io.BytesIO()
with tarfile.open(fileobj=archive, mode="w") as tar:
    tar.addfile(tarfile.TarInfo("empty.txt"))
archive.seek(0)
unpacked = upload_batch.sync(client=client, body=File(archive), path="up", session_id=session)
assert len(unpacked.paths) == 1, unpacked
assert read_file.sync_detailed(client=client, path="a.txt", session_id=session).content == b"text"
assert get_session.sync(session, client=client).title == "generated"
missing = get_session.sync(session_id="none", client=client)
assert missing.code == "session_not_found", missing
