"""Paths and time zones without files: `os.path`, `pathlib` and `zoneinfo` as programs see them.

Paths are text here: they are joined and taken apart, never looked up. Zones come from data that was read
before the guest began.
"""

from __future__ import annotations

import importlib.resources
import io
import os
import pathlib
import posixpath
import zoneinfo
from collections.abc import Callable
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, NoReturn

__all__ = ["OS_PATH", "PATHLIB", "ZONEINFO"]

# ---------------------------------------------------------------------------------------- os.path


def relpath(path: Any, start: Any = ".") -> str:
    """Return the way from `start` to `path`; both are taken from the same directory unless absolute."""
    path, start = os.fspath(path), os.fspath(start)
    if path.startswith("/") != start.startswith("/") and start != ".":
        raise ValueError("relpath() needs two absolute or two relative paths here")
    if path.startswith("/") and start == ".":
        raise ValueError("relpath() of an absolute path needs an absolute start= here")
    return posixpath.relpath(posixpath.join("/", path), posixpath.join("/", start))


def _no_files(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise RuntimeError(
            f"{name}() is not available: there are no files here; use a tool that reads or writes them"
        )

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    return refuse


_LOOKUPS = "abspath exists expanduser getatime getctime getmtime getsize isdir isfile islink ismount realpath samefile"

OS_PATH: dict[str, Any] = {
    "relpath": relpath,
    **{name: _no_files(f"os.path.{name}") for name in _LOOKUPS.split()},
}

# ---------------------------------------------------------------------------------------- pathlib


class Path(PurePosixPath):
    """A path as text. What would look at a file says so."""

    __slots__ = ()


_METHODS = """
    absolute chmod cwd exists expanduser glob home hardlink_to is_dir is_file is_mount is_symlink iterdir lstat mkdir
    open owner read_bytes read_text readlink rename replace resolve rglob rmdir samefile stat symlink_to touch unlink
    walk write_bytes write_text"""
for _name in _METHODS.split():
    setattr(Path, _name, _no_files(f"Path.{_name}"))
Path.__module__ = "pathlib"


def _text_only(parser: Any) -> Any:
    """Return what pathlib needs of a path module, and nothing through which the module could be left."""
    names = [name for name in dir(parser) if name in _PARSER_NAMES]
    return type(parser.__name__, (), {name: _static(getattr(parser, name)) for name in names})()


def _static(value: Any) -> Any:
    return staticmethod(value) if callable(value) else value


_PARSER_NAMES = frozenset(
    """sep altsep extsep curdir pardir pathsep join split splitext splitdrive splitroot normcase normpath basename
    dirname isabs isreserved""".split()
)
# From Python 3.13 on, `PurePath.parser` is public, and a module.
for _class in (pathlib.PurePath, PurePosixPath, PureWindowsPath):
    if "parser" in vars(_class):
        _class.parser = _text_only(_class.parser)  # type: ignore[attr-defined]

PATHLIB: dict[str, Any] = {"Path": Path, "PosixPath": Path}

# --------------------------------------------------------------------------------------- zoneinfo

_zones: dict[str, bytes] = {}


def _read_zones() -> None:
    """Take the zones of the machine, or of the package tzdata, into memory."""
    for name in sorted(zoneinfo.available_timezones()):
        try:
            _zones[name] = _zone_data(name)
        except OSError:
            continue


def _zone_data(name: str) -> bytes:
    for root in zoneinfo.TZPATH:
        path = os.path.join(root, *name.split("/"))
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return file.read()
    package, _, leaf = f"tzdata/zoneinfo/{name}".rpartition("/")
    try:
        return importlib.resources.files(package.replace("/", ".")).joinpath(leaf).read_bytes()
    except ImportError as error:
        raise OSError(str(error)) from None


def _load_zone(key: str) -> io.BytesIO:
    data = _zones.get(key) if type(key) is str else None
    if data is None:
        raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key!r:.80}")
    return io.BytesIO(data)


def available_timezones() -> set[str]:
    """Return the names of all zones."""
    return set(_zones)


_read_zones()
zoneinfo.reset_tzpath(to=())
zoneinfo._common.load_tzdata = _load_zone  # type: ignore[assignment]

ZONEINFO: dict[str, Any] = {"available_timezones": available_timezones}
