"""What a guest does for a fresh run and for a nested call: bytecodes of this package, in a process of its own."""

from __future__ import annotations

from benchmarks.rows.nested_call import program
from benchmarks.unconfined import Unconfined, unconfined

__all__ = ["guest_work"]

FEW, MANY = 10, 40

_COUNTING = """
from bytecodes import bytecodes
for descriptor in channels():
    if os.fork() == 0:
        program.warm_up()
        with bytecodes(package + "/") as count:
            program.serve(descriptor)
        tell(count.number)
        os._exit(0)
    os.close(descriptor)
    os.wait()
"""


def guest_work() -> dict[str, float]:
    """Count."""
    with unconfined(_COUNTING) as guest:
        empty, few, many = (
            _count(guest, source, expected)
            for source, expected in (("return 0", 0), (program(FEW), FEW), (program(MANY), MANY))
        )
    return {
        "guest: bytecodes, fresh run": float(empty),
        "guest: bytecodes, nested call": (many - few) / (MANY - FEW),
    }


def _count(guest: Unconfined, source: str, expected: int) -> int:
    guest.run(source, expected)
    return int(guest.told())
