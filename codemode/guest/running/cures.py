"""One line of cure for what commonly goes wrong: tables from an error to what to write instead.

Only certain advice: where two things could be meant, nothing is said. Texts in, text out; no exception
object is looked at here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

__all__ = ["add_module", "for_abandoned", "for_exception", "for_text"]

_MODULES = frozenset(
    """asyncio base64 bisect calendar collections copy csv dataclasses datetime decimal difflib enum fractions
    functools hashlib heapq html io itertools json logging math operator random re secrets statistics string
    textwrap time typing uuid zoneinfo os sys""".split()
)
_HOMES = {
    **dict.fromkeys(
        ("Counter", "defaultdict", "deque", "OrderedDict", "namedtuple", "ChainMap"), "collections"
    ),
    **dict.fromkeys(("dataclass", "field", "asdict"), "dataclasses"),
    **dict.fromkeys(("timedelta", "timezone", "date"), "datetime"),
    **dict.fromkeys(("Enum", "IntEnum", "auto"), "enum"),
    **dict.fromkeys(("lru_cache", "partial", "reduce", "wraps", "cache"), "functools"),
    **dict.fromkeys(
        ("chain", "combinations", "groupby", "islice", "permutations", "product", "zip_longest"), "itertools"
    ),
    **dict.fromkeys(
        ("Any", "Optional", "Union", "Dict", "List", "NamedTuple", "TypedDict", "Protocol"), "typing"
    ),
    **dict.fromkeys(("itemgetter", "attrgetter"), "operator"),
    **dict.fromkeys(("Decimal",), "decimal"),
    **dict.fromkeys(("Fraction",), "fractions"),
    **dict.fromkeys(("mean", "median", "stdev"), "statistics"),
    **dict.fromkeys(("Path", "PurePath"), "pathlib"),
    **dict.fromkeys(("ThreadPoolExecutor",), "concurrent.futures"),
    **dict.fromkeys(("gather",), "asyncio"),
    **dict.fromkeys(("sqrt", "floor", "ceil", "log"), "math"),
    **dict.fromkeys(("heappush", "heappop", "heapify"), "heapq"),
}
_OUTSIDE = {
    "requests": "there is no network here; use a tool that fetches",
    "httpx": "there is no network here; use a tool that fetches",
    "subprocess": "there are no processes here; use a tool that runs commands",
    "socket": "there is no network here; use a tool that fetches",
    "np": "numpy is not here; use lists with math, statistics and itertools",
    "numpy": "numpy is not here; use lists with math, statistics and itertools",
    "pd": "pandas is not here; use lists of dicts",
    "true": "in Python it is written True",
    "false": "in Python it is written False",
    "null": "in Python it is written None",
    "console": "this is Python: print(...)",
}
_SHORT = {"np": "numpy", "pd": "pandas", "plt": "matplotlib", "nx": "networkx", "sp": "scipy"}
_added: set[str] = set()
_DICT_METHODS = "clear copy fromkeys get items keys pop popitem setdefault update values"


def add_module(name: str) -> None:
    """Note a module that this deployment offers beside the library."""
    _added.add(name)


def _name_error(found: re.Match[str]) -> str | None:
    name = found[1]
    if name in _added:
        return f"write `import {name}` first"
    if _SHORT.get(name) in _added:
        return f"write `import {_SHORT[name]} as {name}` first"
    if name in _OUTSIDE:
        return _OUTSIDE[name]
    if name in _MODULES:
        return f"write `import {name}` first"
    if name in _HOMES:
        return f"write `from {_HOMES[name]} import {name}` first"
    return (
        "define it in this program; runs do not share variables, so what an earlier run made must be made again "
        "(and a tool is called as tools.name(...))"
    )


def _dict_attribute(found: re.Match[str]) -> str:
    return (
        f"a dict's entries are read with x[{found[1]!r}] or x.get({found[1]!r}); its methods: {_DICT_METHODS}"
    )


def _say(advice: str) -> Callable[[re.Match[str]], str | None]:
    return lambda found: advice


_AWAIT = _say("a tool call gives its value when awaited: write `await` before it")

# The first entry counts whose type is the error's and whose pattern is found in its message.
_TABLE: tuple[tuple[str, str, Callable[[re.Match[str]], str | None]], ...] = (
    ("NameError", r"name '(\w+)' is not defined", _name_error),
    (
        "TypeError|AttributeError",
        r"'?PendingCall'?|'(?:Pending call|coroutine|async_generator)' object",
        _AWAIT,
    ),
    (
        "TypeError",
        r"[Aa]n asyncio.Future, a coroutine or an awaitable is required",
        _say("give gather the calls themselves, without await"),
    ),
    (
        "TypeError",
        r"object (dict|list|str|int|float|NoneType|bool|tuple|FrozenDict|FrozenList) can't be used in 'await'",
        _say("this is a value already; drop the `await`"),
    ),
    (
        "TypeError",
        r"the JSON object must be str, bytes or bytearray, not (dict|list|FrozenDict|FrozenList)",
        _say("tools return values, not text: use it as it is, without json.loads"),
    ),
    (
        "TypeError",
        r"the JSON object must be str, bytes or bytearray, not",
        _say("this is a value already; json.loads is for text"),
    ),
    (
        "TypeError",
        r"Object of type (?:ndarray|u?int\d+|float\d+) is not JSON serializable",
        _say("convert it first, with x.tolist()"),
    ),
    (
        "TypeError",
        r"Object of type (\w+) is not JSON serializable",
        _say("convert it first, or pass default=str to json.dumps"),
    ),
    (
        "AttributeError",
        r"has no private attributes here",
        _say("attributes that begin with an underscore can be used on the program's own classes only"),
    ),
    ("AttributeError", r"'(?:dict|FrozenDict)' object has no attribute '(\w+)'", _dict_attribute),
    (
        "AttributeError",
        r"'(?:list|FrozenList)' object has no attribute '(\w+)'",
        _say("this is a list; take an item (x[0]) or go through it with a loop"),
    ),
    (
        "AttributeError",
        r"type object 'os' has no attribute '(environ|getenv)'",
        _say("there is no environment here; ask for what is needed, or call a tool"),
    ),
    (
        "AttributeError",
        r"type object 'os' has no attribute '(system|popen|exec\w*|fork|kill)'",
        _say("there are no processes here; use a tool that runs commands"),
    ),
    (
        "AttributeError",
        r"type object 'os' has no attribute",
        _say("there are no files here; use a tool that reads or writes them"),
    ),
    (
        "AttributeError",
        r"type object '([\w.]+)' has no attribute '(\w+)'",
        lambda found: _no_part(found[1], found[2]),
    ),
    (
        "AttributeError",
        r"'NoneType' object has no attribute",
        _say("something before this gave None; check for it"),
    ),
    (
        "TypeError",
        r"'NoneType' object is not subscriptable",
        _say("something before this gave None; check for it"),
    ),
    ("TypeError", r"'(?:tool)' object is not subscriptable", _say("call the tool: tools.name(...)")),
    ("SystemExit", r"", _say("end a program with `return value` at the top level, not with exit()")),
    ("KeyboardInterrupt", r"", _say("end a program with `return value` at the top level")),
    ("RecursionError", r"", _say("use a loop, or sys.setrecursionlimit for deep data")),
    (
        "Deadlock",
        r"",
        _say("something awaited is never set, put or released; give each wait a timeout to find it"),
    ),
    (
        "TypeError",
        r"cannot set '(\w+)' attribute of immutable type",
        _say("the library cannot be changed; derive a class, or write a function"),
    ),
)
_COMPILED = tuple((frozenset(kinds.split("|")), re.compile(pattern), cure) for kinds, pattern, cure in _TABLE)


def for_exception(kind: str, message: str) -> str | None:
    """Return the cure for an exception of this type with this message, or None."""
    for kinds, pattern, cure in _COMPILED:
        if kind in kinds:
            found = pattern.search(message[:2000])
            if found is not None:
                return cure(found)
    return None


def _no_part(owner: str, part: str) -> str | None:
    if owner.partition(".")[0] in _MODULES | _added:
        return f"dir({owner}) lists what the module {owner} offers here; {part} is not in it"
    return None


def for_abandoned(what: str) -> str:
    """Return the cure for a failure of which nobody asked."""
    if "task" in what.partition(" ")[2][:6]:
        return "await the task, and catch its exception there if it may fail"
    return "add `await` before the call, and catch ToolCallError there if it may fail"


_SHELL = re.compile(
    r"^(?:\$ |sudo |ls\b|pwd$|cat \S|cd \S|grep \S|find \S|echo \S|mkdir \S|rm -|git \w|npm \w|pip3? install|curl \S|"
    r"python3? \S+\.py|wget \S|chmod \S|head -|tail -|sed -|awk ')"
)


def for_text(lines: Sequence[str], message: str) -> str | None:
    """Return the cure for a text that is not Python, or None."""
    first = next((line.strip() for line in lines[:200] if line.strip()), "")
    if first.startswith(("```", "~~~")):
        return "send the Python alone, without the Markdown fence around it"
    if _SHELL.match(first):
        return "this is a shell command; write Python, and call a tool that runs commands or reads files"
    if first.startswith("{") and '"code"' in first:
        return "send the program's text itself, not JSON around it"
    if re.match(r"^(?:const|let|var|function|import \{|export )\b", first):
        return "this looks like JavaScript; write Python"
    if "await" in message and "outside async" in message:
        return "write `async def` for a function that uses await"
    return None
