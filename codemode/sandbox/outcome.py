"""How a run ended: one of the kinds below, whatever happened on the way."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from codemode.values import JSON

__all__ = ["RUN_ERROR_KINDS", "RunErrorKind", "RunOutcome", "RunUsage"]

RunErrorKind: TypeAlias = Literal[
    "exception",  # the program raised, or is no program
    "timeout",  # wall or processor time; the message says which
    "memory-limit",
    "call-limit",
    "output-limit",  # logs or result
    "invalid-output",  # the result is no JSON value
    "abort",  # whoever asked for the run cancelled it
    "worker-exit",  # the guest ended without a word: killed, crashed, or broke the protocol
]

RUN_ERROR_KINDS: tuple[str, ...] = RunErrorKind.__args__  # type: ignore[attr-defined]


class RunUsage(Struct, frozen=True, kw_only=True):
    """What a run took, as the host and the kernel counted it.

    `max_memory_bytes` is by how much the guest grew: its most resident bytes, without those that one has which waits
    for a program; exact to some hundred kilobytes, and not below 0.
    """

    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    max_memory_bytes: int = 0
    calls: int = 0


class RunOutcome(Struct, frozen=True, kw_only=True):
    """The one end of a run.

    `logs` are the printed lines, kept in every case. `result` is absent (`UNSET`) when the program
    returned nothing; it is never there beside an error. `kind` is None when the run ended well, and
    `message` is the text for whoever wrote the program. `missing_layers` are the required layers of the wall that the
    program ran without, which whoever runs it has accepted; there are none unless they were asked for.
    """

    logs: tuple[str, ...] = ()
    result: JSON | UnsetType = UNSET
    kind: RunErrorKind | None = None
    message: str = ""
    usage: RunUsage = RunUsage()
    missing_layers: tuple[str, ...] = ()
