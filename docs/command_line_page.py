"""Writes `reference/command-line.md`: `python docs/command_line_page.py > docs/reference/command-line.md`.

The page comes from the parsers that the commands themselves use; a test holds it equal to this script's output. It is
not argparse's own text, which looks different in each version of Python.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from codemode.cli.main import COMMANDS, parser_of

INTRODUCTION = """\
# The command line

Made from the parsers of `codemode` by `docs/command_line_page.py`; `codemode COMMAND --help` says the same.

Exit codes: 0 it ended well, 1 it did not, 2 wrong usage, 130 interrupted, 129 and 143 ended by a signal.
"""


def page() -> str:
    """Return the page as Markdown."""
    parser = parser_of(COMMANDS)
    parts = [INTRODUCTION]
    parts.append(
        _table(("command", "what for"), [(f"[`{n}`](#codemode-{n})", c.help) for n, c in COMMANDS.items()])
    )
    for name, command in _subcommands(parser):
        parts += _command(f"codemode {name}", command, 2)
    return "\n".join(parts)


def _command(name: str, parser: argparse.ArgumentParser, level: int) -> Iterator[str]:
    """The parts of one command, and of those under it."""
    yield f"{'#' * level} {name}\n"
    if parser.description:
        yield f"{_text(parser.description)}\n"
    under = list(_subcommands(parser))
    arguments = [each for each in _actions(parser) if not each.option_strings]
    options = [each for each in _actions(parser) if each.option_strings]
    if not under:
        usage = [name, *(["[OPTIONS]"] if options else []), *map(_place, arguments)]
        yield f"`{' '.join(usage)}`\n"
    for title, chosen in (("argument", arguments), ("option", options)):
        if chosen:
            yield _table((title, "what it is"), [(_names(each), _help(each)) for each in chosen])
    for each, command in under:
        yield from _command(f"{name} {each}", command, level + 1)


def _subcommands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:  # argparse offers no other way to what a parser holds
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    left_out = (argparse._SubParsersAction, argparse._HelpAction)
    return [
        each
        for each in parser._actions
        if not isinstance(each, left_out) and each.help is not argparse.SUPPRESS
    ]


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if action.metavar is None and action.choices is not None:
        return "|".join(map(str, action.choices))
    return str(action.metavar or action.dest.upper())


def _place(action: argparse.Action) -> str:
    value = _value(action)
    return {"+": f"{value}...", "*": f"[{value}...]", "?": f"[{value}]"}.get(str(action.nargs), value)


def _names(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{_cell(_place(action))}`"
    value = _value(action)
    return ", ".join(f"`{_cell(f'{name} {value}'.strip())}`" for name in action.option_strings)


def _help(action: argparse.Action) -> str:
    if not action.help:
        return ""
    known = {"default": action.default, "prog": "codemode"}
    required = " (required)" if action.required and action.option_strings else ""
    return _text(action.help % known) + required


def _text(text: str) -> str:
    """Prose of a parser as Markdown: what it shows is what it says."""
    for character in "\\*_<>[]$":
        text = text.replace(character, "\\" + character)
    return _cell(text)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _table(head: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    lines = [f"| {head[0]} | {head[1]} |", "| --- | --- |", *(f"| {a} | {b} |" for a, b in rows)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
