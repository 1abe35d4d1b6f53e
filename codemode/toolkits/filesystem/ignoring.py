"""`.gitignore`: which files git would leave alone. Pure; reading the files is for whoever walks.

Git's own rules (gitignore(5)): the last rule that matches decides, one in a deeper directory before one
above it; `!` takes back; a slash at the end is for directories only; a slash elsewhere ties a rule to its
directory. A rule that means nothing matches nothing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from codemode.toolkits.filesystem.patterns import PatternError, component, whole_path

__all__ = ["Ignored", "Rules"]


class Rules:
    """The rules of one file. Paths are relative to its directory."""

    def __init__(self, text: str) -> None:
        self._taken_back: list[bool] = []  # by rule
        names: list[tuple[int, str]] = []
        paths: list[tuple[int, str]] = []
        for line in text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}").split("\n"):
            rule = _rule(line.removesuffix("\r"))
            if rule is not None:
                (paths if rule.is_path else names).append((len(self._taken_back), rule.source))
                self._taken_back.append(rule.takes_back)
        self._names = _Last(names)
        self._paths = _Last(paths)

    def verdict(self, path: str, is_directory: bool) -> bool | None:
        """Return whether a path is ignored, None if no rule is about it."""
        subject = path + "/" if is_directory else path
        rule = max(self._names.match(subject, path.rfind("/") + 1), self._paths.match(subject, 0))
        return None if rule < 0 else not self._taken_back[rule]


class Ignored:
    """The rules that hold in one directory: those of its own and of the directories above it."""

    def __init__(self, levels: tuple[tuple[int, Rules], ...] = ()) -> None:
        self._levels = levels  # with the length of the path to each file's directory; the nearest last

    def with_rules(self, directory: str, text: str) -> Ignored:
        """Return these rules and, above them, those of a file in `directory` ("" for the root)."""
        length = len(directory) + 1 if directory else 0
        return Ignored((*self._levels, (length, Rules(text))))

    def __contains__(self, entry: tuple[str, bool]) -> bool:
        path, is_directory = entry
        for length, rules in reversed(self._levels):
            verdict = rules.verdict(path[length:], is_directory)
            if verdict is not None:
                return verdict
        return False


class _Rule(NamedTuple):
    source: str
    is_path: bool
    takes_back: bool


def _rule(line: str) -> _Rule | None:
    if line.startswith("#"):
        return None
    pattern = _without_trailing_spaces(line)
    takes_back = pattern.startswith("!")
    pattern = pattern.removeprefix("!")
    end = "/" if pattern.endswith("/") else "/?"
    pattern = pattern.removesuffix("/")
    if not pattern:
        return None
    is_path = "/" in pattern
    try:
        source = whole_path(pattern.removeprefix("/")) if is_path else component(pattern)
    except PatternError:
        return None
    return _Rule(source + end, is_path, takes_back)


def _without_trailing_spaces(line: str) -> str:
    stripped = line.rstrip(" ")
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + " " if backslashes % 2 and stripped != line else stripped


class _Last:
    """Tells the last of some rules that matches, in one pass: as alternatives, the last one first."""

    def __init__(self, sources: list[tuple[int, str]]) -> None:
        self._rules = [rule for rule, _ in reversed(sources)]
        alternatives = "|".join(f"({source})\\Z" for _, source in reversed(sources))
        self._pattern = re.compile(alternatives, re.DOTALL) if sources else None

    def match(self, subject: str, start: int) -> int:
        """Return the number of the rule, -1 if there is none."""
        found = self._pattern.match(subject, start) if self._pattern is not None else None
        return -1 if found is None or found.lastindex is None else self._rules[found.lastindex - 1]
