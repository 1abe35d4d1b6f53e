"""The three things that a zygote asks of the language: make ready, warm up, serve one program.

How a run starts, goes and ends stands here; what programs may say and name stands elsewhere. After the
program has ended, nothing of it is trusted: values are walked by their exact types, and the only method
of the program's that is still called is the `__str__` of the exception that ended it.
"""

from __future__ import annotations

import mmap
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from codemode import values, wire
from codemode.control import PackageOrder
from codemode.guest.language.builtins import guest_builtins
from codemode.guest.language.classes import show_modules
from codemode.guest.language.compiler import Refused, Unparsable, compile_program
from codemode.guest.language.frozen import guard_class_methods, protect_classes
from codemode.guest.language.receivers import check_receivers
from codemode.guest.library import aio, expressions, imports, making, streams
from codemode.guest.library.packages import load_trusted
from codemode.guest.library.pure import load_pure
from codemode.guest.running import report, run
from codemode.guest.running.channel import Channel, Disconnected
from codemode.guest.running.loop import PendingCall
from codemode.guest.running.tools import ToolCallError, Tools, object_names, objects
from codemode.guest.running.weight import is_heavier

__all__ = ["prepare", "serve", "warm_up"]

_RESERVE_BYTES: Final = 2 * 1024 * 1024
_REHEARSALS: Final = 9  # CPython specialises a function's code when it runs for the eighth time
_OUT_OF_MEMORY: Final = wire.pack(
    wire.Failed(
        "memory-limit",
        "MemoryError: the program needs more memory than a run may have; work in smaller pieces, use generators "
        "instead of lists, drop what is no longer needed, or let a tool filter the data",
    )
)

_SMALL: Final = """
rows = tools.echo(value=1)
return {"rows": 1}
"""
"""What each guest rehearses: the way of nearly every program, and not a page more, for each costs 4 KiB and a copy."""

_BROAD: Final = """
import json
class Pair:
    def __init__(self, left, right=0):
        self.left = left
        self._right = right
    def total(self):
        return self.left + self._right
def gather(rows):
    found = {}
    for row in rows:
        found.setdefault(row["k"], []).append(row["v"])
    return {key: sum(items) for key, items in sorted(found.items())}
rows = [{"k": f"{n % 3}", "v": n} for n in range(12)]
print("ready", Pair(1, 2).total(), "{:>5}".format(3))
try:
    tools.echo(value=[1, {"a": None}])
    raise ValueError("x")
except (ValueError, ToolCallError) as error:
    text = str(error)
return json.loads(json.dumps(gather(rows)))
"""
"""What the zygote rehearses: more of the language, so that its caches are filled and its code specialised."""


_BUILTINS: Final = guest_builtins(
    {
        "print": streams.print_,
        "eval": expressions.evaluate,
        "__import__": imports.import_module,
        "ToolCallError": ToolCallError,
        "tools": None,
    }
)
"""One table for all runs of a process, of which a guest has one: a copy would touch every object in it, and with it the
page that the object is on. `tools` alone differs from run to run."""


def prepare(
    packages: Sequence[PackageOrder] = (), announce: Callable[[str], None] = lambda name: None
) -> None:
    """Load and protect everything that programs may reach. Once, in the zygote, before the first fork.

    `announce` hears the name of each package before it is loaded. Raises `Unloadable`.
    """
    # Trusted packages first: what they take from the standard library is then still as they know it.
    trusted = load_trusted([order.name for order in packages if order.trusted], announce)
    imports.load()
    imports.add(trusted)
    load_pure([order.name for order in packages if not order.trusted], announce)
    aio.forbid_other_loops()
    sys.modules["__main__"] = types.ModuleType(
        "__main__"
    )  # dataclasses, enum and typing look a class's module up
    check_receivers(imports.exposed())
    making.guard_registration()
    guard_class_methods()
    show_modules()
    protect_classes()
    sys.unraisablehook = _ignore
    for _ in range(_REHEARSALS):
        _serve(_Rehearsal(_BROAD_FRAMES))
        warm_up()


def warm_up() -> None:
    """Run a small program from end to end, so that the pages it touches are this process's own already."""
    _serve(_Rehearsal(_SMALL_FRAMES))


def _frames(source: str) -> bytes:
    """What a host says to a program that makes one call."""
    tool = wire.ToolName("echo", ("value",), False, "echo(value)")
    program = wire.Program(source, (tool,), wire.GuestLimits(1 << 16, 1 << 16, 1 << 12))
    return wire.pack(program) + wire.pack(wire.Value(1, msgspec.Raw(wire.encode_value([1, {"a": "b"}]))))


_SMALL_FRAMES: Final = _frames(_SMALL)
_BROAD_FRAMES: Final = _frames(_BROAD)


class _Rehearsal(Channel):
    """A channel that leads nowhere and hears what it is told, once."""

    def __init__(self, frames: bytes) -> None:
        super().__init__(-1)
        self._said = frames

    def send_packed(self, packed: bytes) -> None:
        pass

    def _hear(self) -> bytes:
        said, self._said = self._said, b""
        return said

    def rest(self) -> None:
        pass


def serve(fd: int) -> None:
    """Read the program from `fd`, run it, send its end. Returns in every case; the process is then to end."""
    _serve(Channel(fd))


def _serve(channel: Channel) -> None:
    try:
        program = channel.receive()
        if not isinstance(program, wire.Program):
            return
        streams_before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = streams.stdout, streams.stderr
        this = run.Run(program, channel)
        run.begin(this)
        try:
            _run(this)
        finally:
            run.end()
            _BUILTINS["tools"] = None  # the next run would otherwise have to let go of them
            sys.stdout, sys.stderr = streams_before
    except (Disconnected, wire.WireError, msgspec.MsgspecError):
        return


def _run(this: run.Run) -> None:
    reserve = mmap.mmap(
        -1, _RESERVE_BYTES, flags=mmap.MAP_PRIVATE
    )  # address space only: its pages are never touched
    try:
        frame = _end_of(this)
    except MemoryError:
        reserve.close()
        this.globals.clear()
        this.channel.send_packed(_OUT_OF_MEMORY)
        return
    this.channel.send(frame)
    this.channel.rest()


def _end_of(this: run.Run) -> wire.Done | wire.Failed:
    """Run the program; return the frame that says how it ended. Raises MemoryError, and nothing of the program's."""
    limit = this.program.limits.error_bytes
    try:
        outcome = _execute(this)
    except (MemoryError, Disconnected):
        raise
    except Unparsable as error:
        return wire.Failed("exception", report.unparsable(error, this.lines, limit))
    except Refused as error:
        return wire.Failed("exception", report.refused(error, this.lines, limit))
    except BaseException as error:
        return wire.Failed("exception", report.exception(error, this.lines, limit))
    return _done(this, outcome)


def _execute(this: run.Run) -> tuple[Any, ...] | None:
    tools = this.program.tools
    beside = object_names(tools)
    given = _BUILTINS.keys() | beside if beside else _BUILTINS
    compiled = compile_program(this.program.source, given=given, exports=imports.exports)
    call = this.loop.call if compiled.uses_await else this.calls.wait
    _BUILTINS["tools"] = Tools(tools, call)
    this.globals.update({"__name__": "__main__", "__doc__": None, "__builtins__": _BUILTINS})
    this.globals.update(objects(tools, call) if beside else {})
    function = types.FunctionType(compiled.code, this.globals)
    outcome: tuple[Any, ...] | None = this.loop.run_main(function()) if compiled.uses_await else function()
    return outcome


def _done(this: run.Run, outcome: tuple[Any, ...] | None) -> wire.Done | wire.Failed:
    if outcome is None or (len(outcome) == 2 and outcome[0] is None):
        return wire.Done()
    value = outcome[0]
    limits = this.program.limits
    if isinstance(value, PendingCall):
        return wire.Failed(
            "invalid-output", "result: a tool call that was not awaited; write `return await …`"
        )
    size = 0
    if not is_heavier(value, limits.result_bytes):
        try:
            values.check(value, root="result")
            data = wire.encode_value(value)
        except values.InvalidValue as error:
            return wire.Failed("invalid-output", report.cut(report.invalid(error), limits.error_bytes))
        except RecursionError:
            return wire.Failed("invalid-output", "result: nested too deeply; flatten it")
        size = len(data)
        if size <= limits.result_bytes:
            return wire.Done(msgspec.Raw(data))
    takes = f"takes {size:,} bytes, more than" if size else "is larger than"
    return wire.Failed(
        "output-limit",
        f"the result {takes} the {limits.result_bytes:,} bytes that a run may return; "
        "return a summary, or the part that is needed",
    )


def _ignore(unraisable: object) -> None:
    """An exception in a finaliser ends nothing and is nobody's to read."""
