r"""Shell patterns, as regular expressions whose work stays small whatever the pattern and the path. Pure.

Patterns come from models and from files in a workspace, and `re` keeps every other thread waiting while it
matches. The usual translation of `*` backtracks over every way to share the text between the stars: minutes
for `*a*a*a*a*a*b` and one long name. Here each star but the last settles for the first place where what follows
it fits (an atomic group); nothing is lost by it, since the next star can take in all that a later place
would have left out. The same holds for `**` and whole components.

    *        any text within a component          ?         one character of a component
    **       as a component: any number of them   [a-z]     one of these; [!a-z] or [^a-z]: none of them
    {a,b}    either; in `Glob` only               \x        x itself

Brackets take POSIX classes (`[[:digit:]]`), in ASCII.
"""

from __future__ import annotations

import re
from itertools import pairwise

__all__ = ["Glob", "PatternError", "component", "whole_path"]

MAX_PATTERN_CHARACTERS = 1000
MAX_ALTERNATIVES = 256
"""How many patterns one with braces may stand for."""


class PatternError(ValueError):
    """A pattern means nothing; says why."""


class Glob:
    """A pattern for files beneath a directory.

    Without a slash it is about names, at any depth; with one, about whole paths from the directory on.
    A slash at its end stands for everything beneath. Raises `PatternError`.
    """

    def __init__(self, pattern: str) -> None:
        if len(pattern) > MAX_PATTERN_CHARACTERS:
            raise PatternError(f"it is longer than {MAX_PATTERN_CHARACTERS} characters")
        names: list[str] = []
        paths: list[str] = []
        for alternative in _without_braces(pattern):
            if "/" in alternative:
                paths.append(whole_path(_from_the_top(alternative)))
            else:
                names.append(component(alternative))
        self._names = _any_of(names)
        self._paths = _any_of(paths)

    def matches(self, path: str) -> bool:
        """Return whether a file's path, relative to the directory, is one of these."""
        by_name = self._names is not None and self._names.match(path, path.rfind("/") + 1) is not None
        return by_name or (self._paths is not None and self._paths.match(path) is not None)


def _any_of(sources: list[str]) -> re.Pattern[str] | None:
    return re.compile(rf"(?:{'|'.join(sources)})\Z", re.DOTALL) if sources else None


def _from_the_top(pattern: str) -> str:
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise PatternError("'..' matches nothing beneath a directory; give the directory as path")
    if pattern.endswith("/"):
        parts.append("**")
    return "/".join(parts)


# -------------------------------------------------------------------------------------- translation


def whole_path(pattern: str) -> str:
    """Return the source of a regular expression for a path, to be followed by what ends it."""
    runs: list[list[str]] = [[]]  # of components, between the `**`
    for part in pattern.split("/"):
        if len(part) > 1 and not part.strip("*"):
            if len(runs) == 1 or runs[-1]:
                runs.append([])
        else:
            runs[-1].append(component(part))
    head, *rest = runs
    if not rest:
        return "/".join(head)
    *middle, tail = rest
    source = "".join(f"{part}/" for part in head)
    for run in middle:
        source += f"(?>(?:[^/]+/)*?{''.join(f'{part}/' for part in run)})"
    return source + (f"(?:[^/]+/)*?{'/'.join(tail)}" if tail else ".+")


def component(pattern: str) -> str:
    """Return the source of a regular expression for one component of a path, likewise."""
    fixed = [""]  # what stands between the stars
    after_star = False
    index = 0
    while index < len(pattern):
        character = pattern[index]
        index += 1
        if character == "*":
            if not after_star:
                fixed.append("")
            after_star = True
            continue
        after_star = False
        if character == "?":
            fixed[-1] += "[^/]"
        elif character == "[":
            source, index = _bracket(pattern, index)
            fixed[-1] += source
        else:
            if character == "\\":
                character, index = _escaped(pattern, index)
            fixed[-1] += re.escape(character)
    head, *rest = fixed
    if not rest:
        return head
    *middle, tail = rest
    if not (head or middle or tail):
        return "[^/]+"
    return head + "".join(f"(?>[^/]*?{part})" for part in middle) + f"[^/]*{tail}"


def _escaped(pattern: str, index: int) -> tuple[str, int]:
    if index == len(pattern):
        raise PatternError("it ends in a backslash")
    return pattern[index], index + 1


_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r" \t-\r",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


def _bracket(pattern: str, index: int) -> tuple[str, int]:
    """The source for a bracket whose inside begins at `index`, and the index after it."""
    negated = pattern[index : index + 1] in ("!", "^")
    if negated:
        index += 1
    first = index
    members = ""
    while True:
        character = pattern[index : index + 1]
        if not character:
            raise PatternError("a '[' is never closed; write \\[ for the character")
        index += 1
        if character == "]" and index - 1 > first:
            break
        if character == "[" and pattern[index : index + 1] == ":":
            end = pattern.find("]", index + 1)
            if end > index + 1 and pattern[end - 1] == ":":
                name = pattern[index + 1 : end - 1]
                if name not in _CLASSES:
                    raise PatternError(f"there is no class [:{name}:]")
                members += _CLASSES[name]
                index = end + 1
                continue
        if character == "\\":
            character, index = _escaped(pattern, index)
        if pattern[index : index + 1] == "-" and pattern[index + 1 : index + 2] not in ("", "]"):
            last, index = pattern[index + 1], index + 2
            if last == "\\":
                last, index = _escaped(pattern, index)
            if character <= last:  # a reversed range has no members
                members += f"{re.escape(character)}-{re.escape(last)}"
        else:
            members += re.escape(character)
    if negated:
        return f"[^/{members}]", index
    return (f"(?!/)[{members}]" if members else "(?!)"), index


# ------------------------------------------------------------------------------------------- braces


def _without_braces(pattern: str) -> list[str]:
    """Return the patterns without braces that one with braces stands for."""
    done: list[str] = []
    todo = [pattern]
    while todo:
        current = todo.pop()
        cuts = _first_braces(current)
        if cuts is None:
            done.append(current)
        else:
            head, tail = current[: cuts[0]], current[cuts[-1] + 1 :]
            todo += [head + current[start + 1 : end] + tail for start, end in pairwise(cuts)]
        if len(done) + len(todo) > MAX_ALTERNATIVES:
            raise PatternError(f"its braces stand for more than {MAX_ALTERNATIVES} patterns")
    return done


def _first_braces(pattern: str) -> list[int] | None:
    """Where the first braces open, have their own commas, and close; None if there are none."""
    cuts: list[int] = []
    depth = 0
    index = 0
    while index < len(pattern):
        character = pattern[index]
        if character == "\\":
            index += 1
        elif character == "[":
            index = _bracket(pattern, index + 1)[1] - 1
        elif character == "{":
            depth += 1
            if depth == 1:
                cuts = [index]
        elif character == "," and depth == 1:
            cuts.append(index)
        elif character == "}" and depth:
            depth -= 1
            if depth == 0:
                return [*cuts, index]
        index += 1
    if depth:
        raise PatternError("a '{' is never closed; write \\{ for the character")
    return None
