"""The second look at `typeof`: what Python's own `type` returns is compared or named, and goes nowhere else.

Follows the stack through the instructions, from each place where the function is loaded. It knows nothing of the
syntax, and whatever it cannot follow it does not allow.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Final, NamedTuple

from codemode.guest.language import names

__all__ = ["real_types_stay"]

# How far an instruction's argument is shifted to the left of the index into `co_names`.
if sys.version_info >= (3, 12):
    _SHIFTS: Final = {
        dis.opmap["LOAD_GLOBAL"]: 1,
        dis.opmap["LOAD_ATTR"]: 1,
        dis.opmap["LOAD_SUPER_ATTR"]: 2,
    }
    _LOADS_ATTRIBUTE: Final = {dis.opmap["LOAD_ATTR"]}
else:
    _SHIFTS: Final = {dis.opmap["LOAD_GLOBAL"]: 1}
    _LOADS_ATTRIBUTE: Final = {dis.opmap["LOAD_ATTR"], dis.opmap["LOAD_METHOD"]}
_UNKNOWN: Final = "?"
_CACHE: Final = 0
_LOADS_NAME: Final = {dis.opmap["LOAD_GLOBAL"], dis.opmap["LOAD_NAME"]}
_BUILDS: Final = {dis.opmap["BUILD_TUPLE"], dis.opmap["BUILD_LIST"], dis.opmap["BUILD_SET"]}
_COMPARES: Final = {dis.opmap["IS_OP"], dis.opmap["CONTAINS_OP"], dis.opmap["COMPARE_OP"]}
_CALL: Final = dis.opmap["CALL"]
_IS_OP: Final = dis.opmap["IS_OP"]
_PUSH_NULL: Final = dis.opmap["PUSH_NULL"]
_MOVES: Final = {dis.opmap["COPY"], dis.opmap["SWAP"], *dis.hasjrel, *dis.hasjabs}
_KINDS: Final = frozenset([*names.KINDS_HOOKS.values(), *names.FROZEN_HOOKS.values()])
"""What nobody may hold either: with it a tool's value could be made, or told from a dict."""
_TYPES: Final = names.COMPARABLE_TYPES | _KINDS


class _Step(NamedTuple):
    operation: int
    argument: int
    text: str
    """The name that it loads; `_UNKNOWN` for one of the engine's that is loaded in another way, or not loaded."""
    effect: int
    """By how much the stack grows."""


def real_types_stay(code: CodeType) -> bool:
    """Whether `code` does no more with the real class of an object than to compare it and to read its name."""
    if names.REAL_TYPE_HOOK not in code.co_names and _KINDS.isdisjoint(code.co_names):
        return True
    steps = list(_steps(code))
    position = 0
    while position < len(steps):
        text = steps[position].text
        if text == names.REAL_TYPE_HOOK:
            position = _follow(steps, position)
            if position < 0:
                return False
        elif text in _KINDS or text == _UNKNOWN:
            return False
        else:
            position += 1
    return True


def _steps(code: CodeType) -> Iterator[_Step]:
    extended = 0
    raw = code.co_code
    for position in range(0, len(raw), 2):
        operation, argument = raw[position], raw[position + 1] | extended
        if operation == _CACHE:
            continue
        if operation == dis.EXTENDED_ARG:
            extended = argument << 8
            continue
        extended = 0
        text = ""
        if operation in dis.hasname:
            text = code.co_names[argument >> _SHIFTS.get(operation, 0)]
            if operation not in _LOADS_NAME and (text in _KINDS or text == names.REAL_TYPE_HOOK):
                text = _UNKNOWN
        given = argument if operation >= dis.HAVE_ARGUMENT else None
        yield _Step(operation, argument, text, dis.stack_effect(operation, given, jump=False))


def _follow(steps: list[_Step], start: int) -> int:
    """Return the position after the use of the type that is loaded at `start`, or -1."""
    if steps[start + 1].operation == _IS_OP:
        return start + 2  # it is compared itself
    position = _called(steps, start)
    if position < 0:
        return -1
    if steps[position].operation in _LOADS_ATTRIBUTE:
        return position + 1 if steps[position].text == "__name__" else -1
    pushed = 0  # what lies on the stack above the class
    while True:
        step = steps[position]
        if step.operation in _COMPARES:
            return position + 1 if pushed == 1 else -1
        types = step.text in _TYPES or (step.text == names.REAL_TYPE_HOOK and pushed == 0)
        loads = step.operation in _LOADS_NAME and types and step.effect == 1
        builds = step.operation in _BUILDS and step.argument <= pushed
        if not loads and not builds:
            return -1
        pushed += step.effect
        position += 1


def _called(steps: list[_Step], start: int) -> int:
    """Return the position after the call of what is loaded at `start` with one argument, or -1."""
    depth = steps[start].effect
    position = start + 1
    if depth == 1 and steps[position].operation == _PUSH_NULL:
        depth += 1
        position += 1
    floor = depth
    while True:
        step = steps[position]
        depth += step.effect
        position += 1
        if step.operation in _MOVES or step.text == names.REAL_TYPE_HOOK:
            return -1
        if depth < floor:
            return position if step.operation == _CALL and step.argument == 1 else -1
