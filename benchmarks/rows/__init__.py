"""The rows of the table: each file measures one thing and says what was to be reached. Their order is the table's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from benchmarks.bench import Bench
from benchmarks.records import Row
from benchmarks.rows import (
    compiling,
    computing,
    fresh_run,
    gathered,
    memory,
    nested_call,
    output,
    signatures,
    starting,
    throughput,
    values,
    workload,
)

__all__ = ["ROWS"]

Measure: TypeAlias = Callable[[Bench], Awaitable[Row]]

ROWS: dict[str, Measure] = {
    "fresh-run": fresh_run.measure,
    "nested-call": nested_call.measure,
    "computing": computing.measure,
    "values": values.measure,
    "throughput": throughput.measure,
    "gathered": gathered.measure,
    "compiling": compiling.measure,
    "memory": memory.measure,
    "starting": starting.measure,
    "output": output.measure,
    "signatures": signatures.measure,
    "workload": workload.measure,
}
"""By name."""
