"""What a program may name, from the tables that the engine obeys.

`language.json` is written from those tables by `docs/language_page.py --tables`, and a test holds the two equal;
the tables themselves live inside the wall and are imported nowhere else.
"""

from __future__ import annotations

import importlib.resources
from functools import cache

import msgspec

__all__ = ["EVERYTHING", "Language", "language"]

EVERYTHING = "*"
"""In `modules`: all public names of the module, which differ from one Python to the next."""


class Language(msgspec.Struct, frozen=True):
    """The names of the language.

    `modules` are the importable ones with the names in them, `elsewhere` modules that programs ask for and cannot
    have, with what to do instead; `builtins` those that work, `unavailable` those that only say what to do instead;
    `denied` attributes that are refused, `refused` pieces of syntax that are, each with the reason; `guarded`
    attributes that are refused on some objects.
    """

    modules: dict[str, list[str]]
    elsewhere: dict[str, str]
    builtins: list[str]
    unavailable: dict[str, str]
    denied: dict[str, str]
    guarded: list[str]
    refused: dict[str, str]


@cache
def language() -> Language:
    """Return the tables. Raises nothing: they are part of the package."""
    data = (importlib.resources.files("codemode.sdk") / "language.json").read_bytes()
    return msgspec.json.decode(data, type=Language)
