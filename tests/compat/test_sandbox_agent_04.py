"""The SDK of sandbox-agent 0.4.2, whose API is another than that of 0.1.11. The package has no inspector."""

from pathlib import Path

import msgspec

from everyagent.testing.daemon import TOKEN, DaemonProcess
from tests.compat.results import TODAY, Reason, Result, by_hand, check_result, refusals
from tests.node_packages import npm_packages, run_module

_FILES = "files are read without a session; `/v1/fs` serves files of sessions only"
_OTHER = "its sessions are ACP over HTTP, and it runs processes: routes of another API, which everyagent does not have"
REASONS = (
    Reason("Fs", r"^400 Invalid Request", _FILES),
    Reason("Process", r"^404 Not Found", _OTHER),
    Reason("Config", r"^404 Not Found", _OTHER),
    Reason("createSession", r"no answer", _OTHER),
)


class Calls(msgspec.Struct):
    total: int
    failed: dict[str, str]


@by_hand
def test_the_sdk_of_the_newest_version(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    daemon = DaemonProcess(tmp_path / "data", "--isolation", "none", command="server")
    daemon.start()
    folder = npm_packages("sandbox-agent-0.4.2", "sandbox-agent@0.4.2")
    script = Path(__file__).with_name("sandbox_agent_04.mjs")
    printed = run_module(folder, script, URL=daemon.url, TOKEN=TOKEN, DIRECTORY=str(tmp_path / "work"))
    assert daemon.stop() == 0
    calls = msgspec.json.decode(printed.splitlines()[-1], type=Calls)
    result = Result(
        program="sandbox-agent 0.4.2, its npm package",
        run="methods that need no desktop, on the mock agent",
        passed=calls.total - len(calls.failed),
        total=calls.total,
        when=TODAY,
        refusals=refusals(calls.failed, REASONS),
    )
    check_result("sandbox-agent-0.4.2", result)
