"""What the engine does, counted: the same numbers on a busy machine and a quiet one, so that tests can hold them.

Time says how fast a machine is; this says how much it is asked to do: bytecodes of this package, steps and tasks of
trio, system calls, bytes on the wire and in the log, page faults, private memory, modules. `bounds` has the table.
"""

from __future__ import annotations

import argparse

import trio

from benchmarks.work import bounds
from benchmarks.work.guest import guest_work
from benchmarks.work.host import host_work
from benchmarks.work.processes import process_work

__all__ = ["counted", "main"]


def counted() -> dict[str, float]:
    """Count everything. Raises OSError where /proc may not be read."""
    return {**host_work(), **guest_work(), **trio.run(process_work)}


def main(arguments: list[str]) -> int:
    """Print the table: what was counted, what is written down, and the bound. Returns 1 if a bound is broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks work", description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help="write down what is counted, for this version of Python"
    )
    options = parser.parse_args(arguments)
    version = bounds.this_version()
    found, numbers = counted(), bounds.written()
    broken = 0
    print(f"Python {version}; a count may be {bounds.MARGIN:.0%} above what is written down")
    print(f"{'counted':>12}  {'written':>10}  {'bound':>10}")
    for name, value in found.items():
        number = numbers.get(name, {}).get(version)
        if number is None:
            print(f"{value:12,.1f}  {'–':>10}  {'–':>10}  {name}  not written down")
            broken += 1
            continue
        bound = bounds.bound_of(number, name)
        broken += value > bound
        remark = (
            "  above its bound"
            if value > bound
            else "  less; write it down"
            if bounds.bound_of(value, name) < number
            else ""
        )
        print(f"{value:12,.1f}  {number:10,.1f}  {bound:10,.1f}  {name}{remark}")
    if options.write:
        bounds.write(found)
        return 0
    return 1 if broken else 0
