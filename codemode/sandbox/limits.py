"""What one run may take. Every limit is on by default and holds for one run alone."""

from __future__ import annotations

import math

from msgspec import Struct

__all__ = ["Limits"]

MIB = 1024 * 1024


class Limits(Struct, frozen=True, kw_only=True):
    """The limits of one run. A run that reaches one ends with the kind named beside it.

    Sizes are bytes (UTF-8 for text), times are seconds.
    """

    wall_seconds: float = 300.0
    """Real time from the start of the program, waiting for tools included, waiting for approvals not: `timeout`."""
    cpu_seconds: float = 30.0
    """Processor time of the program itself; waiting for a tool costs nothing: `timeout`."""
    memory_bytes: int = 512 * MIB
    """Memory beyond what the interpreter itself needs: `memory-limit`."""
    max_calls: int = 1_000
    """Tool calls, refused and failed ones included: `call-limit`."""
    max_calls_in_flight: int = 1_000
    """Tool calls that have been made and not answered yet: `call-limit`."""
    log_bytes: int = 1 * MIB
    """Printed text: `output-limit`."""
    result_bytes: int = 16 * MIB
    """The encoded result, and the encoded arguments of one call: `output-limit`."""
    error_bytes: int = 64 * 1024
    """The text of an error; a longer one is cut in the middle, which ends nothing."""
    source_bytes: int = 1 * MIB
    """The program's text; a longer one is refused before anything starts."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            number = int | float if name.endswith("_seconds") else int
            if (
                isinstance(value, bool)
                or not isinstance(value, number)
                or not value > 0
                or not math.isfinite(value)
            ):
                raise ValueError(f"Limits({name}={value!r}): must be a positive, finite number")
