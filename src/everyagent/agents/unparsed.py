"""`agent.unparsed` events, for frames that a decoder does not understand. The frame is kept as it came."""

import hashlib
from typing import Literal

import msgspec

from everyagent.agents.adapter import DecodedFrame, Frame
from everyagent.logs import get_logger
from everyagent.model.events import Unparsed

logger = get_logger(__name__)

#: Exceptions of decoding malformed or hostile JSON.
BROKEN = (ValueError, RecursionError)


def unparsed(body: bytes, error: str, location: str) -> DecodedFrame:
    """`location` names the decoder."""
    draft = Unparsed(error=error, location=location, raw_hash=hashlib.sha256(body).hexdigest())
    return DecodedFrame(Frame("from_agent", body, form_of(body)), (draft,))


def undecodable(body: bytes, fault: Exception, location: str) -> DecodedFrame:
    """An `Unparsed` event for a frame on which the decoder raised: only that frame is lost, and the trace is logged."""
    logger.exception("a frame could not be decoded", location=location)
    return unparsed(body, f"{type(fault).__name__}: {fault}", location)


def form_of(body: bytes) -> Literal["json", "text", "bytes"]:
    try:
        body.decode()
        msgspec.json.decode(body)
    except UnicodeDecodeError:
        return "bytes"
    except BROKEN:
        return "text"
    return "json"
