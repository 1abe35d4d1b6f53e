"""Which walls stand: the first lines of zygotes that run payloads.

All arrangements go through the shipped host (`LocalSandbox`) and its shipped zygote; what differs is put into the
zygote's memory before its own first lines run, as `tests/sandbox` does it. There is no switch for any of it in the
package, and no file of it is read by the package.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from codemode.sandbox import zygote

__all__ = ["Standing", "check", "first_lines", "zygotes"]

Standing = str
"""`both`, `language` or `process`."""

_GUESTS = Path(__file__).with_name("guests")


_LACKING = ("asyncio", "ctypes", "pickle")
"""Modules that the engine has loaded and `code` payloads do not find loaded; see `guests/plain.py`."""


def _stand_in(module: str, file: str, **settings: object) -> str:
    path = str(_GUESTS / file)
    return f"""\
import sys
standin = type(sys)({module!r})
with open({path!r}, encoding="utf-8") as file:
    exec(compile(file.read(), {file!r}, "exec"), standin.__dict__)
standin.__dict__.update({settings!r})
sys.modules[{module!r}] = standin
"""


def first_lines(standing: Standing, mode: str) -> str:
    """Return what a zygote is given before its own first lines, for payloads of this mode."""
    if standing == "process" or mode == "raw":
        return _stand_in("codemode.guest.program", "plain.py", LACKING=_LACKING if mode == "code" else ())
    language = _stand_in("codemode.guest.program", "observed.py")
    return (
        language + _stand_in("codemode.guest.zygote", "unconfined.py") if standing == "language" else language
    )


@contextmanager
def zygotes(standing: Standing, mode: str) -> Iterator[None]:
    """Zygotes started in here are arranged so."""
    shipped = zygote.BOOTSTRAP
    zygote.BOOTSTRAP = first_lines(standing, mode) + shipped
    try:
        yield
    finally:
        zygote.BOOTSTRAP = shipped


def check(standing: Standing) -> None:
    """Say on standard error what this arrangement cannot show here."""
    if standing != "language" and sys.platform != "linux":
        print("the process wall is Linux' own; nothing of it is shown on this system", file=sys.stderr)
