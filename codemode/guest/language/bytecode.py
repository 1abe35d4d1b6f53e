"""The second look: walks compiled code and refuses what the policy should have caught.

It reads instructions, not syntax, and shares with the policy only the tables of `names`, so that a slip
in a rewrite there is met here. Nothing here repairs anything: a finding means the policy is wrong.
"""

from __future__ import annotations

import dis
import sys
from types import CodeType
from typing import Final

from codemode.guest.language import names
from codemode.guest.language.names import (
    DENIED,
    GUARDED,
    MARK,
    OWN,
    OWN_HOOK,
    PLAIN,
    attribute_kind,
    is_dunder,
)
from codemode.guest.language.realtypes import real_types_stay
from codemode.guest.language.rewrites import template_is_plain

__all__ = ["UnguardedCode", "check_code"]


class UnguardedCode(Exception):
    """Compiled code reads, writes or imports a name that it must not."""


# How far an instruction's argument is shifted to the left of the index into `co_names`.
if sys.version_info >= (3, 12):
    _LOADS: Final = {dis.opmap["LOAD_ATTR"]: 1, dis.opmap["LOAD_SUPER_ATTR"]: 2}
else:
    _LOADS: Final = {dis.opmap["LOAD_ATTR"]: 0, dis.opmap["LOAD_METHOD"]: 0}
_STORES: Final = {dis.opmap["STORE_ATTR"]: 0, dis.opmap["DELETE_ATTR"]: 0}
_IMPORTS: Final = {dis.opmap["IMPORT_NAME"]: 0, dis.opmap["IMPORT_FROM"]: 0}
_NAMED: Final = {**_LOADS, **_STORES, **_IMPORTS}
_MATCH_CLASS: Final = dis.opmap["MATCH_CLASS"]
_LOAD_CONST: Final = dis.opmap["LOAD_CONST"]


def check_code(code: CodeType, checked: bool = False, *, imports_private: bool = False) -> None:
    """Walk `code` and the code inside it. Raises `UnguardedCode` at the first name that is not allowed.

    `checked` says that an enclosing block checks the owner of private attributes, `imports_private` that private
    names may be imported: whoever answers the import of a package's module looks at whose they are.
    """
    checked = checked or OWN_HOOK in code.co_names or MARK in code.co_names
    suspicious = any(attribute_kind(name) != PLAIN or name[:1] == "_" for name in code.co_names)
    if suspicious or _MATCH_CLASS in code.co_code[::2]:
        _check_instructions(code, checked, imports_private)
    if not real_types_stay(code):
        raise UnguardedCode("type")
    for constant in code.co_consts:
        if type(constant) is CodeType:
            check_code(constant, checked, imports_private=imports_private)


def _check_instructions(code: CodeType, checked: bool, imports_private: bool) -> None:
    in_method = "__class__" in code.co_freevars and "super" in code.co_names
    extended = 0
    constant: object = None  # what the last LOAD_CONST loaded
    before: object = None  # what the instruction just before loaded, if it was one
    raw = code.co_code
    for position in range(0, len(raw), 2):
        operation = raw[position]
        argument = raw[position + 1] | extended
        if operation == dis.EXTENDED_ARG:
            extended = argument << 8
            continue
        extended = 0
        if operation == _LOAD_CONST:
            constant = before = code.co_consts[argument]
            continue
        shift = _NAMED.get(operation)
        if shift is not None:
            name = code.co_names[argument >> shift]
            if operation in _IMPORTS:
                allowed = _importable(name, imports_private)
            else:
                allowed = _allowed(name, operation, checked, in_method, before)
            if not allowed:
                raise UnguardedCode(name)
        elif operation == _MATCH_CLASS:
            attributes = constant if isinstance(constant, tuple) else ()
            for name in attributes:
                if attribute_kind(name) != PLAIN or name[:1] == "_":
                    raise UnguardedCode(name)
        before = None


def _importable(name: str, private: bool) -> bool:
    kinds = (PLAIN, OWN) if private else (PLAIN,)
    return all(attribute_kind(part) in kinds and (private or part[:1] != "_") for part in name.split("."))


def _allowed(name: str, operation: int, checked: bool, in_method: bool, receiver: object) -> bool:
    kind = attribute_kind(name)
    stores = operation in _STORES
    if kind == PLAIN:
        return not (stores and is_dunder(name) and name not in names.STORABLE)
    if kind == OWN:
        return checked or in_method
    if kind == GUARDED:
        if stores:
            return name in names.FORMATTERS or name == "obj"
        if name in names.FORMATTERS:
            return type(receiver) is str and template_is_plain(receiver)
        return in_method and name in names.SUPER_PLAIN
    return kind == DENIED and name in (MARK, names.INSTANCE) and not stores
