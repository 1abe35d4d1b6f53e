"""What the reader of a failed run is told: type, message, the program's own lines, and a cure.

Works on what a program left behind, so it trusts none of it: types are looked up, not asked; the one
method that is called is `__str__`, and it may fail. Frames that are not the program's are not shown. Every
text is bounded.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

from codemode.guest.language.compiler import PROGRAM, Refused, Unparsable
from codemode.guest.language.names import MARK
from codemode.guest.running import cures
from codemode.guest.running.loop import Abandoned
from codemode.values import InvalidValue

__all__ = ["PROGRAM", "cut", "exception", "frames", "headline", "invalid", "refused", "text", "unparsable"]

_MAX_MESSAGE = 16_000  # characters of one message
_MAX_NAME = 200
_MAX_LINKS = 12  # exceptions of a chain that are shown
_MAX_FRAMES = 24  # lines shown of one traceback
_MAX_MEMBERS = 8  # exceptions shown of a group
_MAX_LINE = 200

_mro = type.__dict__["__mro__"].__get__
_name_of = type.__dict__["__name__"].__get__
_qualified_name_of = type.__dict__["__qualname__"].__get__
_args_of = BaseException.__dict__["args"].__get__
_cause_of = BaseException.__dict__["__cause__"].__get__
_context_of = BaseException.__dict__["__context__"].__get__
_suppress_of = BaseException.__dict__["__suppress_context__"].__get__
_traceback_of = BaseException.__dict__["__traceback__"].__get__
_dict_of = BaseException.__dict__["__dict__"].__get__
_members_of = BaseExceptionGroup.__dict__["exceptions"].__get__


def exception(error: BaseException, lines: Sequence[str], limit: int) -> str:
    """Return the report of the exception that ended a program, at most `limit` bytes of UTF-8."""
    what = ""
    if type(error) is Abandoned:
        what = error.what
        error = error.error
    report = text(error, lines)
    if what:
        report = f"{report}{what[0].upper()}{what[1:]}.\n"
    if what:
        cure: str | None = cures.for_abandoned(what)
    else:
        kind, message = _describe(error)
        # A shell command may be Python by its form: `ls -la` subtracts.
        cure = (kind == "NameError" and cures.for_text(lines, "")) or cures.for_exception(kind, message)
    return cut(report + (f"Hint: {cure}\n" if cure else ""), limit).rstrip("\n")


def text(error: BaseException, lines: Sequence[str], chain: bool = True) -> str:
    """Return an exception as Python prints it, with the program's lines only."""
    links: list[tuple[BaseException, str]] = [(error, "")]
    seen = {id(error)}
    more = False
    while chain:
        current = links[-1][0]
        following, relation = _cause_of(current), "The above exception was the direct cause of this one:"
        if following is None and not _suppress_of(current):
            following, relation = (
                _context_of(current),
                "While the above exception was being handled, this one came:",
            )
        if following is None or id(following) in seen:
            break
        if len(links) == _MAX_LINKS:
            more = True
            break
        seen.add(id(following))
        links.append((following, relation))
    parts = ["[earlier exceptions are not shown]\n\n"] if more else []
    for index in range(len(links) - 1, -1, -1):
        parts.append(_one(links[index][0], lines, 0))
        if index:
            parts.append(f"\n{links[index][1]}\n\n")
    return "".join(parts)


def _one(error: BaseException, lines: Sequence[str], depth: int) -> str:
    shown = frames(_traceback_of(error), lines)
    parts = ["Traceback (most recent call last):\n", *shown] if shown else []
    parts.append(headline(error) + "\n")
    parts.extend(f"{note}\n" for note in _notes(error))
    if BaseExceptionGroup in _mro(type(error)) and depth < 3:
        members = _members_of(error)
        for number, member in enumerate(members[:_MAX_MEMBERS], 1):
            inner = _one(member, lines, depth + 1)
            parts.append(f"  [{number}] " + inner.replace("\n", "\n      ").rstrip() + "\n")
        if len(members) > _MAX_MEMBERS:
            parts.append(f"  … and {len(members) - _MAX_MEMBERS} more\n")
    return "".join(parts)


def headline(error: BaseException) -> str:
    """Return `Type: message`."""
    kind, message = _describe(error)
    return f"{kind}: {message}" if message else kind


def _describe(error: BaseException) -> tuple[str, str]:
    kind = type(error)
    name = cut(_qualified_name_of(kind).rpartition("<locals>.")[2], _MAX_NAME)
    module = kind.__dict__.get("__module__")
    if type(module) is str and module not in ("builtins", "__main__") and not module.startswith("codemode"):
        name = f"{cut(module, _MAX_NAME)}.{name}"
    message = cut(_message(error), _MAX_MESSAGE)
    if kind is UnboundLocalError or kind is NameError:
        name, message = _as_in_a_module(error, name, message)
    if AttributeError in _mro(kind):
        message = message.replace(f"has no attribute {MARK!r}", "has no private attributes here")
    if SyntaxError in _mro(kind):
        message = message.replace(f" ({PROGRAM}, ", " (")
    return name, message.replace(f"{PROGRAM}.<locals>.", "").replace(f"{PROGRAM}()", "the program")


def _message(error: BaseException) -> str:
    try:
        message = str(error)
    except MemoryError:
        raise
    except BaseException as failure:
        return f"<no message: its __str__ raised {cut(_name_of(type(failure)), _MAX_NAME)}>"
    return str.__str__(message) if type(message) is str else "".join(("", str.__str__(message)))


def _as_in_a_module(error: BaseException, name: str, message: str) -> tuple[str, str]:
    """The top level is a function's body; its reader thinks of a module, where a variable is a plain name."""
    codes = [code for code, _ in _places(_traceback_of(error))]
    missing = getattr(error, "name", None)
    if type(missing) is not str:
        words = message.split("'")
        missing = words[1] if len(words) > 1 else None
    if missing is None or not codes:
        return name, message
    at_top = codes[-1].co_name == PROGRAM and message.startswith(("cannot access local", "local variable"))
    of_top = message.startswith("cannot access free variable") and _is_of_top(codes, missing)
    if at_top or of_top:
        return "NameError", f"name {missing!r} is not defined"
    return name, message


def _is_of_top(codes: list[types.CodeType], variable: str) -> bool:
    """Whether a variable that the last of `codes` has from outside is one of the top level."""

    def around(outer: types.CodeType) -> list[types.CodeType] | None:
        for inner in outer.co_consts:
            if inner is codes[-1]:
                return [outer]
            found = around(inner) if type(inner) is types.CodeType else None
            if found is not None:
                return [*found, outer]
        return None

    owners = [code for code in around(codes[0]) or [] if variable in code.co_cellvars]
    return bool(owners) and owners[0].co_name == PROGRAM


def _notes(error: BaseException) -> list[str]:
    own = _dict_of(error)
    notes = own.get("__notes__") if type(own) is dict else None
    if type(notes) is not list:
        return []
    shown = [cut(note, _MAX_MESSAGE // 8) for note in notes[:_MAX_MEMBERS] if type(note) is str]
    return [*shown, f"… and {len(notes) - _MAX_MEMBERS} more notes"] if len(notes) > _MAX_MEMBERS else shown


# -------------------------------------------------------------------------------- the program's lines


def _places(traceback: Any) -> list[tuple[types.CodeType, int]]:
    """The program's code and line of each frame, outermost first."""
    found = []
    while type(traceback) is types.TracebackType:
        code = traceback.tb_frame.f_code
        if code.co_filename == PROGRAM:
            found.append((code, traceback.tb_lineno or 0))
        traceback = traceback.tb_next
    return found


def frames(traceback: Any, lines: Sequence[str]) -> list[str]:
    """Return the program's lines of a traceback, with their numbers and text."""
    places = _places(traceback)
    skipped = len(places) - _MAX_FRAMES
    if skipped > 0:
        half = _MAX_FRAMES // 2
        shown = [_place(*place, lines) for place in places[:half]]
        shown.append(f"  … {skipped} more lines …\n")
        shown.extend(_place(*place, lines) for place in places[-half:])
        return shown
    return [_place(*place, lines) for place in places]


def _place(code: types.CodeType, line: int, lines: Sequence[str]) -> str:
    where = "" if code.co_name == PROGRAM else f", in {cut(code.co_qualname, _MAX_NAME)}"
    return f"  line {line}{where}\n    {_line(line, lines).strip()}\n"


def _line(number: int, lines: Sequence[str]) -> str:
    if not 0 < number <= len(lines):
        return ""
    line = lines[number - 1]
    return line if len(line) <= _MAX_LINE else line[:_MAX_LINE] + "…"


# ------------------------------------------------------------------------ what never became a program


def unparsable(error: Unparsable, lines: Sequence[str], limit: int) -> str:
    """Return the report of a text that is not Python."""
    parts = [f"{error.kind}: {error.message}" + (f" (line {error.line})" if error.line else "") + "\n"]
    line = lines[error.line - 1].rstrip() if 0 < error.line <= len(lines) else ""
    if line:
        parts.append(_pointed(line, error.column, error.end_column))
    cure = cures.for_text(lines, error.message)
    if cure:
        parts.append(f"Hint: {cure}\n")
    return cut("".join(parts), limit).rstrip("\n")


def _pointed(line: str, column: int, end: int) -> str:
    """A line of source and a caret under the place."""
    column = max(1, column)
    start = max(0, column - 1 - _MAX_LINE // 2)
    window = line[start : start + _MAX_LINE]
    stripped = window.lstrip()
    offset = column - 1 - start - (len(window) - len(stripped))
    width = max(1, min(end - column if end > column else 1, len(stripped) - offset))
    caret = " " * max(0, offset) + "^" * width
    return f"    {stripped}\n    {caret}\n"


def refused(error: Refused, lines: Sequence[str], limit: int) -> str:
    """Return the report of everything that a program says and may not."""
    count = len(error.refusals)
    parts = [
        f"The program was not started: {count} thing{'s' if count > 1 else ''} in it cannot be used here.\n"
    ]
    for refusal in error.refusals[:50]:
        if refusal.line:
            parts.append(f"  line {refusal.line}: {refusal.text}\n    {_line(refusal.line, lines).strip()}\n")
        else:
            parts.append(f"  {refusal.text}\n")
    if count > 50:
        parts.append(f"  … and {count - 50} more\n")
    return cut("".join(parts), limit).rstrip("\n")


def invalid(error: InvalidValue) -> str:
    """Return what is wrong with a result."""
    message = str(error)
    if "PendingCall is not" in message:
        return f"{error.path}: a tool call that was not awaited; write `await` before it"
    return message


def cut(message: str, limit: int) -> str:
    """Return `message` within `limit` bytes of UTF-8, its middle left out if it is longer."""
    if len(message) * 4 <= limit:
        return message.encode("utf-8", "backslashreplace").decode()
    data = message.encode("utf-8", "backslashreplace")
    if len(data) <= limit:
        return data.decode()
    mark = f"\n… {len(data):,} bytes, the middle is left out …\n".encode()
    half = max(0, limit - len(mark)) // 2
    ends = data[:half].decode("utf-8", "ignore"), data[len(data) - half :].decode("utf-8", "ignore")
    return f"{ends[0]}{mark.decode()}{ends[1]}"[: max(limit, 1)]
