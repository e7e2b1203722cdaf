"""The server's end of a WebSocket, on the socket of an upgraded HTTP request."""

import base64
import hashlib
import socket
import struct
import threading
from io import BufferedIOBase

_MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _CLOSE, _PING, _PONG = 0x1, 0x8, 0x9, 0xA


def accept_key(key: str) -> str:
    """The value of `sec-websocket-accept` for a client's key."""
    return base64.b64encode(hashlib.sha1((key + _MAGIC).encode()).digest()).decode()


class WebSocket:
    """One thread receives; any thread may send or close."""

    def __init__(self, reader: BufferedIOBase, connection: socket.socket) -> None:
        self._reader = reader
        self._connection = connection
        self._sending = threading.Lock()

    def receive(self) -> str | None:
        """The next text message, or None when the connection is closed."""
        message = b""
        while True:
            try:
                final, opcode, payload = self._frame()
            except (OSError, EOFError, struct.error):
                return None
            if opcode == _CLOSE:
                self.close()
                return None
            if opcode == _PING:
                self._send(_PONG, payload)
            elif opcode != _PONG:
                message += payload
                if final:
                    return message.decode()

    def send(self, text: str) -> None:
        """Does nothing if the connection is closed."""
        self._send(_TEXT, text.encode())

    def close(self, code: int = 1000) -> None:
        self._send(_CLOSE, struct.pack("!H", code))
        try:
            self._connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def _frame(self) -> tuple[bool, int, bytes]:
        first, second = self._exactly(2)
        length = second & 0x7F
        if length == 126:
            (length,) = struct.unpack("!H", self._exactly(2))
        elif length == 127:
            (length,) = struct.unpack("!Q", self._exactly(8))
        mask = self._exactly(4) if second & 0x80 else bytes(4)
        payload = self._exactly(length)
        repeated = (mask * (length // 4 + 1))[:length]
        unmasked = int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")
        return bool(first & 0x80), first & 0x0F, unmasked.to_bytes(length, "big")

    def _exactly(self, count: int) -> bytes:
        data = self._reader.read(count)
        if len(data) < count:
            raise EOFError
        return data

    def _send(self, opcode: int, payload: bytes) -> None:
        length = len(payload)
        if length < 126:
            head = struct.pack("!BB", 0x80 | opcode, length)
        elif length < 65536:
            head = struct.pack("!BBH", 0x80 | opcode, 126, length)
        else:
            head = struct.pack("!BBQ", 0x80 | opcode, 127, length)
        with self._sending:
            try:
                self._connection.sendall(head + payload)
            except OSError:
                return
