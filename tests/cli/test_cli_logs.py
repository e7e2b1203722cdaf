"""The log lines that the daemon writes to stderr."""

import io
import json
import subprocess
import sys

import pytest

from everyagent import logs


def logged(code: str) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return done.stdout, done.stderr


def test_json_lines_have_the_facts_and_stdout_stays_empty():
    out, err = logged(
        "from everyagent import logs\n"
        "logs.set_up('json')\n"
        "logger = logs.get_logger('everyagent.test')\n"
        "logger.info('session started', session='s1')\n"
        "try:\n    1 / 0\n"
        "except ZeroDivisionError:\n    logger.exception('it failed')\n"
        "import logging\n"
        "logging.getLogger('uvicorn').warning('a library says %s', 'this')\n"
    )
    started, failed, library = [json.loads(line) for line in err.splitlines()]
    assert out == ""
    assert (started["event"], started["session"], started["level"]) == ("session started", "s1", "info")
    assert started["logger"] == "everyagent.test"
    assert "ZeroDivisionError" in failed["exception"]
    assert (library["event"], library["level"]) == ("a library says this", "warning")


def test_console_lines_are_readable():
    _, err = logged("from everyagent import logs; logs.set_up('console'); logs.get_logger('x').info('hello', a=1)")
    assert "hello" in err
    assert "a=1" in err
    assert not err.startswith("{")


def test_lines_below_the_level_are_not_logged():
    _, err = logged("from everyagent import logs; logs.set_up('json', 'warning'); logs.get_logger('x').info('hello')")
    assert err == ""


def test_structlog_is_loaded_with_the_first_line():
    out, _ = logged(
        "import sys; from everyagent import logs; logs.set_up('json'); logger = logs.get_logger('x')\n"
        "print('structlog' in sys.modules); logger.info('now'); print('structlog' in sys.modules)"
    )
    assert out.split() == ["False", "True"]


def test_a_closed_stderr_does_not_raise():
    code = (
        "import os, sys; from everyagent import logs; logs.set_up('json'); logger = logs.get_logger('x')\n"
        "logger.info('heard'); unread, pipe = os.pipe(); os.close(unread); os.dup2(pipe, 2)\n"
        "logger.info('not heard')\n"
        "sys.stderr = None; logger.info('nor this'); import logging; logging.getLogger('uvicorn').warning('nor this')\n"
        "print('went on')"
    )
    out, err = logged(code)
    assert out == "went on\n"
    assert [json.loads(line)["event"] for line in err.splitlines()] == ["heard"]


def test_a_line_goes_to_the_current_stderr(capsys: pytest.CaptureFixture[str]):
    logger = logs.get_logger("x")
    logger.error("first")
    assert "first" in capsys.readouterr().err
    kept, sys.stderr = sys.stderr, io.StringIO()
    try:
        logger.error("second")
        assert "second" in sys.stderr.getvalue()
    finally:
        sys.stderr = kept
    assert "second" not in capsys.readouterr().err
