"""`codemode completions`: what lets a shell complete this command line; shtab writes it from the parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from codemode.cli.terminal import UsageError, write

__all__ = ["DESCRIPTION", "add_arguments", "command"]

DESCRIPTION = (
    "Print a script with which a shell completes commands, options and files. "
    'bash: put eval "$(codemode completions bash)" into ~/.bashrc. '
    "zsh: codemode completions zsh > DIR/_codemode, for a DIR in $fpath. "
    "fish: codemode completions fish > ~/.config/fish/completions/codemode.fish."
)

_SHELLS = ("bash", "zsh", "fish")

_FILES = frozenset(("DOCUMENT", "FILE", "PROGRAM"))
_DIRECTORIES = frozenset(("DIR",))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("shell", choices=_SHELLS, help="the shell that is to complete")


def command(options: argparse.Namespace) -> int:
    """Run the command and return its exit code. Raises `UsageError`."""
    try:
        import shtab
    except ImportError:
        raise UsageError("completions need shtab: pip install 'codemode[completions]'") from None
    from codemode.cli.main import COMMANDS, parser_of  # which loads this module

    parser = parser_of(COMMANDS)
    for action in _actions(parser):
        _complete(action, shtab)
        if isinstance(action, argparse._SubParsersAction):
            _shorten(action)
    write(shtab.complete(parser, shell=options.shell) + "\n")
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the actions of a parser and of those under it."""
    for action in parser._actions:  # argparse offers no other way to what a parser holds
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for under in action.choices.values():
                yield from _actions(under)


def _shorten(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Describe commands in a few words, as the list of them does; shells show that beside each name."""
    for about in commands._choices_actions:
        commands.choices[about.dest].description = about.help


def _complete(action: Any, shtab: Any) -> None:
    """Say what an argument takes, by the name that its help gives it; `Any`: an attribute that shtab looks for."""
    if action.metavar in _FILES:
        action.complete = shtab.FILE
    elif action.metavar in _DIRECTORIES:
        action.complete = shtab.DIRECTORY
