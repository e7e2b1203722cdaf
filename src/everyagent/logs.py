"""Structured logging to stderr. structlog is loaded with the first log line, because it would double the start-up time.

Every part of the daemon gets its logger from here; the CLI chooses the format.
"""

import io
import logging
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO, cast

from everyagent.masking.live import mask_live
from everyagent.terminal_text import visible

if TYPE_CHECKING:
    from structlog.typing import EventDict, FilteringBoundLogger, Processor

    from everyagent.config import LogFormat, LogLevel


class Logger:
    """Logs an event in a few words, with its facts as keywords."""

    def __init__(self, name: str) -> None:
        self._name = name

    def info(self, event: str, **facts: object) -> None:
        self._log("info", event, facts)

    def warning(self, event: str, **facts: object) -> None:
        self._log("warning", event, facts)

    def error(self, event: str, **facts: object) -> None:
        self._log("error", event, facts)

    def exception(self, event: str, **facts: object) -> None:
        """Log an error with the traceback of the exception that is being handled."""
        self._log("error", event, {"exc_info": True, **facts})

    def _log(self, level: str, event: str, facts: dict[str, object]) -> None:
        """Never raises for want of file descriptors: callers log in places where an exception ends the daemon."""
        try:
            bound = _logs.bound(self._name)
        except (OSError, ImportError) as error:
            _stderr.write(f"{level}: {event} {facts} (structlog was not loaded: {error})\n")
        else:
            getattr(bound, level)(event, **facts)


def get_logger(name: str) -> Logger:
    return Logger(name)


def set_up(log_format: "LogFormat", level: "LogLevel" = "info") -> None:
    """Choose the format; `auto` is `console` on a terminal. Also formats warnings of libraries that use `logging`."""
    _logs.choose(log_format, level)


class _Stderr(io.TextIOBase):
    """The current `sys.stderr`, with secrets masked. Errors of writing are ignored, because its pipe may be closed."""

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError, AttributeError):
            return sys.stderr.write(mask_live(text))
        return 0

    def flush(self) -> None:
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.flush()

    def isatty(self) -> bool:
        with suppress(ValueError, AttributeError):
            return sys.stderr.isatty()
        return False


_stderr = cast("TextIO", _Stderr())


class _Logs:
    def __init__(self) -> None:
        self._format: LogFormat = "auto"
        self._level: LogLevel = "info"
        self._ready = False

    def choose(self, log_format: "LogFormat", level: "LogLevel") -> None:
        self._format, self._level, self._ready = log_format, level, False
        if "structlog" in sys.modules:
            self._configure()

    def bound(self, name: str) -> "FilteringBoundLogger":
        import structlog

        if not self._ready:
            self._configure()
        return structlog.get_logger().bind(logger=name)

    def _configure(self) -> None:
        import structlog

        steps: list[Processor] = [
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _visible_values,
        ]
        if self._format == "console" or (self._format == "auto" and _stderr.isatty()):
            last: Processor = structlog.dev.ConsoleRenderer(
                colors=_stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            )
        else:
            last = structlog.processors.JSONRenderer()
        structlog.configure(
            processors=[*steps, last],
            wrapper_class=structlog.make_filtering_bound_logger(self._level),
            logger_factory=structlog.WriteLoggerFactory(file=_stderr),
        )
        handler = logging.StreamHandler(_stderr)
        handler.setFormatter(
            structlog.stdlib.ProcessorFormatter(
                processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, last], foreign_pre_chain=steps
            )
        )
        libraries = logging.ERROR if self._level == "error" else logging.WARNING
        logging.basicConfig(handlers=[handler], level=libraries, force=True)
        self._ready = True


def _visible_values(_logger: object, _method: str, event: "EventDict") -> "EventDict":
    """Agents' text in a log line cannot act on a terminal."""
    return {name: visible(value) if isinstance(value, str) else value for name, value in event.items()}


_logs = _Logs()
