"""OpenCode behind a wire that can be cut: run as the program, it starts the real one and passes on what is said.

SIGUSR1 cuts every event stream; none is let through again until SIGUSR2.
"""

import asyncio
import os
import re
import signal
import sys

LISTENING = re.compile(rb"http://127\.0\.0\.1:(\d+)")


class OpencodeWire:
    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: set[asyncio.StreamWriter] = set()
        self._cut = False

    def cut(self) -> None:
        self._cut = True
        for writer in self._streams:
            writer.transport.abort()

    def mend(self) -> None:
        self._cut = False

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.read(65536)
        is_stream = head.startswith(b"GET /event")
        if not head or (is_stream and self._cut):
            writer.transport.abort()
            return
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        back.write(head)
        if is_stream:
            self._streams.add(writer)
        await asyncio.gather(passed_on(reader, back), passed_on(there, writer))
        self._streams.discard(writer)


async def passed_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while chunk := await source.read(65536):
            target.write(chunk)
            await target.drain()
    except OSError:
        pass
    finally:
        target.close()


async def main(real: str, port: int) -> None:
    argv = [real, "serve", "--hostname", "127.0.0.1", "--port", "0"]
    process = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
    assert process.stdout
    async for line in process.stdout:
        found = LISTENING.search(line)
        if found:
            wire = OpencodeWire(int(found[1]))
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGUSR1, wire.cut)
            loop.add_signal_handler(signal.SIGUSR2, wire.mend)
            await asyncio.start_server(wire.connected, "127.0.0.1", port)
            sys.stdout.write(f"opencode server listening on http://127.0.0.1:{port}\n")
            sys.stdout.flush()
    sys.exit(await process.wait())


if __name__ == "__main__":
    real = os.environ["REAL_OPENCODE"]
    if "--version" in sys.argv:
        os.execv(real, [real, "--version"])
    asyncio.run(main(real, int(sys.argv[sys.argv.index("--port") + 1])))
