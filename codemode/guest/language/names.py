"""Which attribute names a program may use, and how. Tables and one function; no other file decides this.

The compiler, the guards at run time and the check of the bytecode all ask here, so that a name means
the same wherever it is met. A name is one of four kinds:

- `PLAIN`: leads nowhere but to public data; emitted as ordinary bytecode.
- `OWN`: `_private`; only on instances and classes that the program itself made.
- `GUARDED`: harmless on most objects, leads out on some; read through a guard.
- `DENIED`: leads into the interpreter; refused, with a replacement where there is one.

Nothing here may look at an object.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "ASSIGNABLE_BY_REFERENCE",
    "ASSIGNABLE_IN_CLASS",
    "CHANGERS",
    "CLASS_GUARDED",
    "COMPARABLE_TYPES",
    "DEFINABLE",
    "DENIED",
    "FORMATTERS",
    "FORMAT_HOOK",
    "FROZEN_HOOKS",
    "GUARDED",
    "INSTANCE",
    "KINDS_HOOKS",
    "MARK",
    "METHODS",
    "OWN",
    "OWN_HOOK",
    "PLAIN",
    "READ_HOOK",
    "REAL_TYPE_HOOK",
    "STORABLE",
    "SUPER_GUARDED",
    "SUPER_HOOK",
    "SUPER_PLAIN",
    "TYPE_HOOK",
    "attribute_kind",
    "denied",
    "is_dunder",
    "is_sunder",
    "readable",
    "why_denied",
]

PLAIN: Final = 0
OWN: Final = 1
GUARDED: Final = 2
DENIED: Final = 3

# Names of the engine inside compiled programs. They are no identifiers, so that no source can spell,
# bind or shadow them.
OWN_HOOK: Final = "<own>"
READ_HOOK: Final = "<read>"
FORMAT_HOOK: Final = "<format>"
TYPE_HOOK: Final = "<type>"
REAL_TYPE_HOOK: Final = (
    "<real type>"  # Python's own `type`; what it gives is compared on the spot and held by nobody
)
FROZEN_HOOKS: Final = {"dict": "<frozen dict>", "list": "<frozen list>"}  # the classes of tools' values
KINDS_HOOKS: Final = {
    "dict": "<kinds of dict>",
    "list": "<kinds of list>",
}  # sets: the class, and that of a tool's value
SUPER_HOOK: Final = "<super>"
INSTANCE: Final = "<instance>"  # attribute of every instance of a class that a program made, and of no class
MARK: Final = "<private attributes>"  # class attribute of every class that a program made


def is_dunder(name: str) -> bool:
    return len(name) > 4 and name[:2] == "__" and name[-2:] == "__"


def is_sunder(name: str) -> bool:
    return len(name) > 2 and name[0] == "_" == name[-1] and name[1] != "_" and name[-2] != "_"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BINARY = "add sub mul truediv floordiv mod divmod pow lshift rshift and or xor matmul".split()
_IN_PLACE = frozenset(f"__i{word}__" for word in _BINARY if word != "divmod")

# Methods that compute and change nothing: as harmless as the operator they stand for.
_OPERATORS = (
    frozenset(f"__{word}__" for word in _BINARY)
    | frozenset(f"__r{word}__" for word in _BINARY)
    | _words(
        """__len__ __length_hint__ __iter__ __next__ __aiter__ __anext__ __contains__ __getitem__ __missing__
        __reversed__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __bool__ __int__ __float__ __complex__
        __index__ __round__ __trunc__ __floor__ __ceil__ __abs__ __neg__ __pos__ __invert__ __str__ __repr__
        __bytes__ __format__ __call__ __enter__ __exit__ __aenter__ __aexit__ __fspath__ __post_init__"""
    )
)

_DATA = _words(
    """__name__ __qualname__ __doc__ __module__ __cause__ __context__ __suppress_context__ __traceback__ __notes__
    __members__ __slots__ __match_args__ __annotations__ __version__ __all__ __type_params__ __total__
    __required_keys__ __optional_keys__ __metadata__ __supertype__"""
)

# Underscore names that the documentation of namedtuple, enum and string.Template makes public.
_PUBLIC = _words(
    """_asdict _replace _fields _make _field_defaults _value_ _name_ _missing_ _ignore_ _order_
    _generate_next_value_ _value2member_map_ _member_map_ _member_names_"""
)

METHODS = _IN_PLACE | _words(
    """__init__ __new__ __setitem__ __delitem__ __set_name__ __init_subclass__ __class_getitem__ __get__ __set__
    __delete__ __copy__ __deepcopy__ __setattr__ __delattr__ __getattribute__ __getattr__ __sizeof__ __dir__"""
)
"""Methods that change their object or hand it on: called by name, they are checked at run time."""

FORMATTERS = frozenset({"format", "format_map"})

_GUARDED = METHODS | FORMATTERS | {"obj", "__class__", "__dict__"}

_FRAMES = _words(
    """f_back f_builtins f_code f_generator f_globals f_locals f_trace f_trace_lines f_trace_opcodes f_lasti f_lineno
    tb_frame tb_next tb_lasti tb_lineno
    gi_frame gi_code gi_yieldfrom gi_running gi_suspended gi_state
    cr_frame cr_code cr_await cr_origin cr_running cr_suspended cr_state
    ag_frame ag_code ag_await ag_running ag_suspended ag_state
    co_code co_consts co_names co_varnames co_freevars co_cellvars co_filename co_name co_qualname co_flags
    co_firstlineno co_lnotab co_linetable co_exceptiontable co_positions co_lines co_argcount co_posonlyargcount
    co_kwonlyargcount co_nlocals co_stacksize"""
)

_DENIED: dict[str, str] = {
    **dict.fromkeys(_FRAMES, "frames and code objects are not available"),
    "mro": "the class hierarchy is not available; use isinstance(x, Base) or issubclass(cls, Base)",
    "__mro__": "the class hierarchy is not available; use isinstance(x, Base) or issubclass(cls, Base)",
    "__base__": "the class hierarchy is not available; use isinstance(x, Base) or issubclass(cls, Base)",
    "__bases__": "the class hierarchy is not available; use isinstance(x, Base) or issubclass(cls, Base)",
    "__subclasses__": "list the classes yourself, for example in __init_subclass__",
    "__globals__": "use a dict of your own",
    "__builtins__": "call the function by its name",
    "__code__": "frames and code objects are not available",
    "__closure__": "keep shared state in an object or a dict of your own",
    "__defaults__": "keep the defaults in a dict of your own",
    "__kwdefaults__": "keep the defaults in a dict of your own",
    "__self__": "keep a reference to the object",
    "__func__": "keep a reference to the function",
    "__wrapped__": "keep a reference to the wrapped function",
    "__import__": "write `import name`",
    "__await__": "write `await x`",
    "__subclasshook__": "use isinstance(x, Base)",
    "__dataclass_fields__": "use dataclasses.fields(x)",
    "__origin__": "use typing.get_origin(x)",
    "__args__": "use typing.get_args(x)",
    "__reduce__": "use copy.copy(x) or copy.deepcopy(x)",
    "__reduce_ex__": "use copy.copy(x) or copy.deepcopy(x)",
    "__getstate__": "use vars(x) or dataclasses.asdict(x)",
    "__setstate__": "set the attributes one by one",
    "get_loop": "use asyncio.create_task, asyncio.gather and asyncio.sleep",
    "get_stack": "frames and code objects are not available",
    "print_stack": "frames and code objects are not available",
    "get_coro": "keep a reference to the coroutine",
    "with_traceback": "write `raise error from cause`",
    **dict.fromkeys(_words("fget fset fdel"), "call the property through an instance"),
}

_KINDS: dict[str, int] = {
    **dict.fromkeys(_OPERATORS | _DATA | _PUBLIC, PLAIN),
    **dict.fromkeys(_GUARDED, GUARDED),
    **dict.fromkeys(_DENIED, DENIED),
}


def attribute_kind(name: str) -> int:
    """Return what kind of attribute name this is: `PLAIN`, `OWN`, `GUARDED` or `DENIED`."""
    if name in _KINDS:
        return _KINDS[name]
    if name[:1] == "_":
        return DENIED if is_dunder(name) or is_sunder(name) or name.startswith("_abc_") else OWN
    return DENIED if name[:1] == "<" else PLAIN


def denied() -> frozenset[str]:
    """Return the names that are denied one by one, rather than by their form."""
    return frozenset(_DENIED)


def readable() -> frozenset[str]:
    """Return the names of the form `__x__` that may be read, some of them through a guard."""
    return frozenset(name for name, kind in _KINDS.items() if is_dunder(name) and kind != DENIED)


def why_denied(name: str) -> str:
    """Return what to say about a denied name: reason or replacement, without a full stop."""
    advice = _DENIED.get(name)
    if advice:
        return advice
    return "names of this form lead into the interpreter; use a public attribute or function"


CLASS_GUARDED = tuple("append clear extend insert pop remove reverse sort popitem setdefault update".split())
"""Methods of list and dict that change their object: taken from a class, they refuse a tool's value."""

CHANGERS = frozenset(CLASS_GUARDED) | _words("__setitem__ __delitem__ __iadd__ __imul__ __ior__ __init__")
"""What changes a list or dict that it is given, if `super()` of a class, and not of an instance, hands it out."""

COMPARABLE_TYPES = _words("bool bytearray bytes complex dict float frozenset int list set str tuple")
"""Builtins of which `type(x) is ...` says the same of an object's real type as of what `type(x)` gives a program; for
`dict` and `list`, if the class of a tool's value counts as one."""

STORABLE = _words(
    "__name__ __qualname__ __doc__ __module__ __cause__ __context__ __suppress_context__ __traceback__ __notes__ "
    "__annotations__"
)
"""Dunder attributes that may be assigned on an object."""

SUPER_GUARDED = _words("__setattr__ __delattr__ __getattribute__ __dir__ __class__ __dict__ __sizeof__")
SUPER_PLAIN = (_OPERATORS | METHODS | _PUBLIC) - SUPER_GUARDED
"""What may be read from `super()` without a guard: its object is always one that the program made."""

DEFINABLE = (
    _OPERATORS
    | _IN_PLACE
    | _words(
        """__init__ __new__ __setitem__ __delitem__ __set_name__ __init_subclass__ __class_getitem__ __get__ __set__
        __delete__ __copy__ __deepcopy__ __setattr__ __delattr__ __getattr__ __sizeof__ __dir__"""
    )
)
"""Methods that a class body may define with `def`."""

ASSIGNABLE_IN_CLASS = (
    _OPERATORS | _IN_PLACE | _words("__slots__ __match_args__ __doc__ __init__ __setitem__")
) - {"__post_init__"}
"""What a class body may also bind by an assignment (`__radd__ = __add__`, `__hash__ = None`)."""

ASSIGNABLE_BY_REFERENCE = _words("__getattr__ __setattr__ __delattr__ __copy__ __deepcopy__ __delitem__")
"""The same, but only to an existing function (`__getattr__ = dict.get`)."""
