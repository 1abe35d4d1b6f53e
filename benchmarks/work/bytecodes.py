"""Counts the bytecodes that one thread executes in the files of this package. Exact, and slow."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

__all__ = ["Count", "bytecodes"]

_TOOL = 4
"""A number for `sys.monitoring` that neither debuggers, coverage nor profilers have."""


class Count:
    """How many there were so far."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = 0


@contextmanager
def bytecodes(directory: str, when: Callable[[], bool] = lambda: True) -> Iterator[Count]:
    """Count what this thread executes of code under `directory`, while `when` says so, until the block is left."""
    count = Count()
    way = _monitored if sys.version_info >= (3, 12) else _traced
    with way(directory, when, count):
        yield count


@contextmanager
def _traced(directory: str, when: Callable[[], bool], count: Count) -> Iterator[None]:
    def local(frame: FrameType, event: str, _: Any) -> Any:
        if event == "opcode" and when():
            count.number += 1
        return local

    def entered(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(directory):
            return None
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        return local

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        yield
    finally:
        sys.settrace(before)


@contextmanager
def _monitored(directory: str, when: Callable[[], bool], count: Count) -> Iterator[None]:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    event = monitoring.events.INSTRUCTION
    thread = threading.get_ident()

    def executed(code: CodeType, offset: int) -> Any:
        if not code.co_filename.startswith(directory):
            return monitoring.DISABLE
        if threading.get_ident() == thread and when():
            count.number += 1
        return None

    monitoring.use_tool_id(_TOOL, "bytecodes")
    monitoring.register_callback(_TOOL, event, executed)
    monitoring.restart_events()
    monitoring.set_events(_TOOL, event)
    try:
        yield
    finally:
        monitoring.set_events(_TOOL, 0)
        monitoring.register_callback(_TOOL, event, None)
        monitoring.free_tool_id(_TOOL)
