"""The shipped language in a guest, with one more name: `witness(x, …)`, which knows the interpreter's own objects.

A guest's stand-in for `codemode.guest.program`, made from that of the escape payloads (`observed.py`), whose names it
finds around it. `witness` is no part of the language: it looks at an object as the engine can and a program cannot,
and prints ESCAPED with what it is when a program should never have held it.
"""

from __future__ import annotations

import builtins
import sys
import types
from typing import Any

_KINDS: dict[type, str] = {
    types.FrameType: "a frame",
    types.CodeType: "a code object",
    types.ModuleType: "a module",
    types.CellType: "a cell",
    types.MappingProxyType: "a class's namespace",
}
_OF_C = (
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.MethodDescriptorType,
    types.BuiltinFunctionType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)
_DOORS = frozenset(
    """__getattribute__ __setattr__ __delattr__ __subclasses__ mro __mro__ __bases__ __reduce__ __reduce_ex__
    __getstate__ __globals__ __builtins__ __code__ __closure__ __defaults__ __kwdefaults__ gi_frame gi_code cr_frame
    cr_code ag_frame ag_code tb_frame f_back f_globals f_locals f_builtins f_code""".split()
)
_BUILTINS = "eval exec compile open input globals locals vars dir getattr setattr delattr __import__ memoryview".split()
_FUNCTIONS = {id(vars(builtins)[name]): f"the real {name}" for name in _BUILTINS if name in vars(builtins)}
_CLASSES = {
    id(kind): f"the class {kind.__name__}"
    for kind in (
        type,
        types.FunctionType,
        types.CodeType,
        types.ModuleType,
        types.GeneratorType,
    )
}


def witness(*found: Any) -> None:
    for each in found:
        what = what_it_is(each)
        if what:
            print("ESCAPED:", what)


def what_it_is(each: Any) -> str:
    """Say what an object is if it is none for a program; an empty text if it is one."""
    kind = type(each)
    if id(each) in _FUNCTIONS:
        return _FUNCTIONS[id(each)]
    if id(each) in _CLASSES:
        return _CLASSES[id(each)]
    if kind in _OF_C and each.__name__ in _DOORS:
        return f"the real {each.__name__}"
    # A module's `__dict__` and the globals of any function; the program's own `vars(x)` never hold this key.
    if kind is dict and "__builtins__" in each:
        return "a namespace with its builtins"
    if each is sys.modules:
        return "all modules"
    if kind is types.MappingProxyType and "__dict__" not in each and "__weakref__" not in each:
        return ""  # of a dict, as `types.MappingProxyType({})` makes them
    return _KINDS.get(kind, "")
