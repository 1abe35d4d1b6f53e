"""`logging` as programs see it: records become lines of the run's log.

A small part of the library's module, written anew: the real one formats with attribute walks, opens
files and locks threads. Levels, handlers, formatters (`%` style) and hierarchies behave as documented.
"""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace
from typing import Any

from codemode.guest.library import streams
from codemode.guest.running import report, run

__all__ = ["REPLACED"]

CRITICAL, ERROR, WARNING, INFO, DEBUG, NOTSET = 50, 40, 30, 20, 10, 0
_LEVELS = {
    "CRITICAL": 50,
    "FATAL": 50,
    "ERROR": 40,
    "WARNING": 30,
    "WARN": 30,
    "INFO": 20,
    "DEBUG": 10,
    "NOTSET": 0,
}
_NAMES = {50: "CRITICAL", 40: "ERROR", 30: "WARNING", 20: "INFO", 10: "DEBUG", 0: "NOTSET"}


def getLevelName(level: Any) -> Any:
    """Return the name of a level, or the level of a name."""
    if level in _LEVELS:
        return _LEVELS[level]
    return _NAMES.get(level, f"Level {level}")


def _level(level: Any) -> int:
    if isinstance(level, str):
        if level not in _LEVELS:
            raise ValueError(f"Unknown level: {level!r}")
        return _LEVELS[level]
    if isinstance(level, int):
        return level
    raise TypeError(f"Level not an integer or a valid string: {level!r}")


class Formatter:
    """Formats records by a `%` template."""

    def __init__(
        self, fmt: str | None = None, datefmt: str | None = None, style: str = "%", **options: Any
    ) -> None:
        if style != "%":
            raise ValueError("only style='%' is available here")
        self.template = fmt or "%(message)s"
        self.datefmt = datefmt

    def formatTime(self, record: Any, datefmt: str | None = None) -> str:
        """Return the time of a record as text."""
        when = time.localtime(record.created)
        if datefmt:
            return time.strftime(datefmt, when)
        return f"{time.strftime('%Y-%m-%d %H:%M:%S', when)},{int(record.created % 1 * 1000):03d}"

    def format(self, record: Any) -> str:
        """Return a record as text."""
        fields = dict(record.__dict__)
        fields["message"] = record.getMessage()
        fields["asctime"] = self.formatTime(record, self.datefmt)
        text = self.template % fields
        if record.exc_text:
            text = f"{text}\n{record.exc_text}"
        return text


class Handler:
    """Takes records; `emit` decides what becomes of them."""

    def __init__(self, level: Any = NOTSET) -> None:
        self.level = _level(level)
        self.formatter: Any = None

    def setLevel(self, level: Any) -> None:
        self.level = _level(level)

    def setFormatter(self, formatter: Any) -> None:
        self.formatter = formatter

    def format(self, record: Any) -> str:
        return str((self.formatter or _plain).format(record))

    def handle(self, record: Any) -> None:
        if record.levelno >= self.level:
            self.emit(record)

    def emit(self, record: Any) -> None:
        raise NotImplementedError("emit must be implemented by Handler subclasses")

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class StreamHandler(Handler):
    """Writes records as lines."""

    def __init__(self, stream: Any = None) -> None:
        super().__init__()
        self.stream = streams.stderr if stream is None else stream

    def emit(self, record: Any) -> None:
        self.stream.write(self.format(record) + "\n")


class NullHandler(Handler):
    """Drops records."""

    def emit(self, record: Any) -> None:
        pass


class Logger:
    """A named source of records."""

    def __init__(self, name: str, parent: Logger | None, level: int = NOTSET) -> None:
        self.name = name
        self.parent = parent
        self.level = level
        self.handlers: list[Any] = []
        self.propagate = True
        self.disabled = False

    def setLevel(self, level: Any) -> None:
        self.level = _level(level)

    def getEffectiveLevel(self) -> int:
        logger: Logger | None = self
        while logger is not None:
            if logger.level:
                return logger.level
            logger = logger.parent
        return NOTSET

    def isEnabledFor(self, level: int) -> bool:
        return not self.disabled and level >= self.getEffectiveLevel()

    def addHandler(self, handler: Any) -> None:
        if handler not in self.handlers:
            self.handlers.append(handler)

    def removeHandler(self, handler: Any) -> None:
        if handler in self.handlers:
            self.handlers.remove(handler)

    def hasHandlers(self) -> bool:
        return bool(self.handlers) or bool(self.propagate and self.parent and self.parent.hasHandlers())

    def getChild(self, suffix: str) -> Logger:
        return getLogger(suffix if self is _root else f"{self.name}.{suffix}")

    def log(
        self, level: int, msg: Any, *args: Any, exc_info: Any = None, extra: Any = None, **options: Any
    ) -> None:
        """Log a message at a level."""
        if self.isEnabledFor(level):
            self._handle(_record(self.name, level, msg, args, exc_info, extra))

    def _handle(self, record: Any) -> None:
        logger: Logger | None = self
        found = False
        while logger is not None:
            for handler in logger.handlers:
                found = True
                handler.handle(record)
            logger = logger.parent if logger.propagate else None
        if not found and record.levelno >= WARNING:
            streams.stderr.write(record.getMessage() + "\n")

    def debug(self, msg: Any, *args: Any, **options: Any) -> None:
        self.log(DEBUG, msg, *args, **options)

    def info(self, msg: Any, *args: Any, **options: Any) -> None:
        self.log(INFO, msg, *args, **options)

    def warning(self, msg: Any, *args: Any, **options: Any) -> None:
        self.log(WARNING, msg, *args, **options)

    warn = warning

    def error(self, msg: Any, *args: Any, **options: Any) -> None:
        self.log(ERROR, msg, *args, **options)

    def exception(self, msg: Any, *args: Any, exc_info: Any = True, **options: Any) -> None:
        self.log(ERROR, msg, *args, exc_info=exc_info, **options)

    def critical(self, msg: Any, *args: Any, **options: Any) -> None:
        self.log(CRITICAL, msg, *args, **options)

    fatal = critical

    def __repr__(self) -> str:
        return f"<Logger {self.name} ({getLevelName(self.getEffectiveLevel())})>"


def _record(name: str, level: int, msg: Any, args: Any, exc_info: Any, extra: Any) -> Any:
    now = time.time()
    if len(args) == 1 and isinstance(args[0], dict) and args[0]:
        args = args[0]

    def message() -> str:
        text = str(msg)
        return text % args if args else text

    error = sys.exception() if exc_info is True else exc_info if isinstance(exc_info, BaseException) else None
    fields = {
        "name": name,
        "msg": msg,
        "args": args,
        "levelno": level,
        "levelname": getLevelName(level),
        "created": now,
        "msecs": now % 1 * 1000,
        "module": "program",
        "filename": "program",
        "pathname": "program",
        "funcName": "",
        "lineno": 0,
        "process": 1,
        "processName": "MainProcess",
        "thread": 1,
        "threadName": "MainThread",
        "exc_text": report.text(error, run.current().lines).rstrip() if error is not None else None,
        "getMessage": message,
    }
    return SimpleNamespace(**{**(extra or {}), **fields})


_plain = Formatter()
_root = Logger("root", None, WARNING)
_loggers: dict[str, Logger] = {}


def getLogger(name: str | None = None) -> Logger:
    """Return the logger of a name; the same one each time."""
    if not name or name == "root":
        return _root
    found = _loggers.get(name)
    if found is None:
        parent = getLogger(name.rpartition(".")[0])
        found = _loggers[name] = Logger(name, parent)
    return found


def basicConfig(
    *,
    level: Any = None,
    format: str | None = None,
    datefmt: str | None = None,
    style: str = "%",
    stream: Any = None,
    handlers: Any = None,
    force: bool = False,
    **options: Any,
) -> None:
    """Set up the root logger. A file, if one is named, is the run's log as well."""
    if force:
        _root.handlers.clear()
    if not _root.handlers:
        for handler in [StreamHandler(stream)] if handlers is None else handlers:
            if handler.formatter is None:
                handler.setFormatter(
                    Formatter(format or "%(levelname)s:%(name)s:%(message)s", datefmt, style)
                )
            _root.addHandler(handler)
    if level is not None:
        _root.setLevel(level)


def disable(level: int = CRITICAL) -> None:
    """Silence the root logger up to a level."""
    _root.setLevel(max(_root.level, level + 1))


REPLACED: dict[str, Any] = {
    **_LEVELS,
    **{
        item.__name__: item
        for item in (
            basicConfig,
            disable,
            getLevelName,
            getLogger,
            Formatter,
            Handler,
            Logger,
            NullHandler,
            StreamHandler,
        )
    },
    **{
        name: getattr(_root, name)
        for name in "critical debug error exception fatal info log warn warning".split()
    },
    "root": _root,
}
for _class in (Formatter, Handler, Logger, NullHandler, StreamHandler):
    _class.__module__ = "logging"
