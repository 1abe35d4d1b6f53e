"""What a program can ask of the interpreter: the harmless part of sys, clocks, warnings and tracebacks.

Tracebacks show the program's own lines only; warnings go into the run's output.
"""

from __future__ import annotations

import sys
import time
import types
import warnings
from typing import Any, NoReturn

from codemode.guest.library import streams
from codemode.guest.running import report, run

__all__ = ["SYS", "TIME", "TRACEBACK", "WARNINGS"]

# ------------------------------------------------------------------------------------ sys, warnings


def exit_(code: object = None) -> NoReturn:
    """End the program; a run that ends so counts as failed."""
    raise SystemExit(code)


_DEEPEST = 100_000 if sys.version_info >= (3, 12) else 15_000
"""Python 3.11 counts calls through C code like others, and a guest's stack ends before 100,000 of those."""


def setrecursionlimit(limit: int) -> None:
    """Set how deep calls may nest; a larger limit than is safe is taken as the largest that is."""
    sys.setrecursionlimit(min(limit, _DEEPEST))


def _show_warning(message: warnings.WarningMessage) -> None:
    place = f"line {message.lineno}: " if message.filename == report.PROGRAM else ""
    streams.stderr.write(f"{place}{message.category.__name__}: {message.message}\n")


warnings._showwarnmsg_impl = _show_warning  # type: ignore[attr-defined]


def formatwarning(message: Any, category: Any, filename: Any, lineno: Any, line: Any = None) -> str:
    """Return a warning as text."""
    return f"{filename}:{lineno}: {category.__name__}: {message}\n" + (f"  {line.strip()}\n" if line else "")


# ---------------------------------------------------------------------------------------- traceback


def _lines() -> Any:
    return run.current().lines


def format_exc(limit: Any = None, chain: bool = True) -> str:
    """Return the traceback of the exception being handled."""
    error = sys.exception()
    return "NoneType: None\n" if error is None else report.text(error, _lines(), chain)


def print_exc(limit: Any = None, file: Any = None, chain: bool = True) -> None:
    """Print the traceback of the exception being handled."""
    streams.print_(format_exc(limit, chain), end="", file=file)


def format_exception(
    exc: Any, /, value: Any = None, tb: Any = None, limit: Any = None, chain: bool = True
) -> list[str]:
    """Return the traceback of an exception, as lines."""
    error = exc if isinstance(exc, BaseException) else value
    return report.text(error, _lines(), chain).splitlines(keepends=True)


def print_exception(
    exc: Any, /, value: Any = None, tb: Any = None, limit: Any = None, file: Any = None
) -> None:
    """Print the traceback of an exception."""
    streams.print_("".join(format_exception(exc, value)), end="", file=file)


def format_exception_only(exc: Any, /, value: Any = None) -> list[str]:
    """Return an exception's type and message, as lines."""
    error = exc if isinstance(exc, BaseException) else value
    return [report.headline(error) + "\n"]


def format_tb(tb: Any, limit: Any = None) -> list[str]:
    """Return the program's lines of a traceback."""
    return report.frames(tb, _lines())


def print_tb(tb: Any, limit: Any = None, file: Any = None) -> None:
    """Print the program's lines of a traceback."""
    streams.print_("".join(format_tb(tb)), end="", file=file)


exit_.__name__ = exit_.__qualname__ = "exit"

SYS: dict[str, Any] = {
    "argv": [""],
    "exit": exit_,
    "platform": sys.platform,
    "implementation": types.SimpleNamespace(name=sys.implementation.name, version=sys.version_info),
    "setrecursionlimit": setrecursionlimit,
    "stderr": streams.stderr,
    "stdin": streams.stdin,
    "stdout": streams.stdout,
}

# The process's own clock advances by ticks where a limit of processor time is set; its one thread's does not.
TIME: dict[str, Any] = {"process_time": time.thread_time, "process_time_ns": time.thread_time_ns}

WARNINGS: dict[str, Any] = {"formatwarning": formatwarning}

TRACEBACK: dict[str, Any] = {
    "format_exc": format_exc,
    "format_exception": format_exception,
    "format_exception_only": format_exception_only,
    "format_tb": format_tb,
    "print_exc": print_exc,
    "print_exception": print_exception,
    "print_tb": print_tb,
}
