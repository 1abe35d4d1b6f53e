"""What a program prints with: `print`, `sys.stdout`, `sys.stderr`, and their redirection.

Both streams lead to the run's one log. Text is turned into exact `str` before anything is measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from codemode.guest.running import run

__all__ = ["NoInput", "RedirectStderr", "RedirectStdout", "Stream", "print_", "stderr", "stdin", "stdout"]


class Stream:
    """A text file that leads into the log."""

    __slots__ = ("_targets", "name")

    encoding = "utf-8"
    errors = "backslashreplace"
    newlines = None
    closed = False

    def __init__(self, name: str) -> None:
        self.name = name
        self._targets: list[Any] = []  # the innermost redirection is last

    def write(self, text: str) -> int:
        """Write text; returns how many characters."""
        if self._targets:
            return self._targets[-1].write(text)  # type: ignore[no-any-return]
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        exact = str.__str__(text) if type(text) is str else "".join(("", str.__str__(text)))
        run.current().output.write(exact)
        return len(exact)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Everything is sent when it is written."""

    def close(self) -> None:
        """The log stays open to the end."""

    def isatty(self) -> bool:
        return False

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def fileno(self) -> NoReturn:
        raise OSError(f"{self.name} is no file here")

    def __repr__(self) -> str:
        return f"<{self.name}>"


class NoInput:
    """`sys.stdin`: there is none."""

    __slots__ = ()

    def read(self, *args: object) -> NoReturn:
        raise RuntimeError("sys.stdin is not available here: pass the data in, or call a tool")

    readline = readlines = __iter__ = read


stdout = Stream("<stdout>")
stderr = Stream("<stderr>")
stdin = NoInput()
for _class in (Stream, NoInput):
    _class.__module__ = "builtins"


def print_(
    *objects: object, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: bool = False
) -> None:
    """Print the objects to the run's log, or to `file`."""
    if sep is None:
        sep = " "
    if end is None:
        end = "\n"
    if not isinstance(sep, str) or not isinstance(end, str):
        raise TypeError("sep and end must be None or strings")
    # One write for one print, and an exact str whatever the parts are.
    text = "".join(
        ("", str.__str__(sep).join([str.__str__(str(item)) for item in objects]), str.__str__(end))
    )
    (stdout if file is None else file).write(text)


print_.__name__ = print_.__qualname__ = "print"


class RedirectStdout:
    """`contextlib.redirect_stdout`."""

    _stream = stdout

    def __init__(self, new_target: Any) -> None:
        self._target = new_target

    def __enter__(self) -> Any:
        self._stream._targets.append(self._target)
        return self._target

    def __exit__(self, *exc_info: object) -> None:
        self._stream._targets.pop()


class RedirectStderr(RedirectStdout):
    """`contextlib.redirect_stderr`."""

    _stream = stderr


RedirectStdout.__name__ = RedirectStdout.__qualname__ = "redirect_stdout"
RedirectStderr.__name__ = RedirectStderr.__qualname__ = "redirect_stderr"
