"""Checks the attachments of a message before the message is taken."""

import base64
import mimetypes
from pathlib import Path

from msgspec.structs import replace

from everyagent.errors import BadRequest
from everyagent.model.sessions import Attachment, SendMessage


def checked(message: SendMessage) -> SendMessage:
    """The message with the type of each attachment. Raises for the first that cannot be read."""
    attachments = [_checked(index, attachment) for index, attachment in enumerate(message.attachments)]
    return replace(message, attachments=attachments)


def _checked(index: int, attachment: Attachment) -> Attachment:
    field = f"attachments[{index}]"
    if [attachment.path, attachment.data, attachment.file_id].count(None) != 2 or attachment.file_id is not None:
        raise BadRequest(f"`{field}` needs one of `path`, `data` (base64) and `fileId`.", field=field)
    if attachment.path is not None:
        path = Path(attachment.path)
        if not path.is_absolute() or not path.is_file():
            raise BadRequest(
                f"`{field}.path` must be the absolute path of a file on the daemon's machine; "
                f"{attachment.path!r} is not. To send a file from elsewhere, put its bytes in `data` as base64.",
                field=f"{field}.path",
            )
    elif attachment.data is not None:
        try:
            base64.b64decode(attachment.data, validate=True)
        except ValueError as error:
            raise BadRequest(f"`{field}.data` is not base64: {error}.", field=f"{field}.data") from error
    mime = attachment.mime or mimetypes.guess_type(attachment.filename or attachment.path or "")[0]
    return replace(attachment, mime=mime)
