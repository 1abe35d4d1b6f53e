"""OpenTelemetry, where the host program uses it: its tracer, and spans of what has happened already.

Nothing is imported for it and nothing is measured unless the program has set up a tracer provider: a trace that
nobody takes costs a look into `sys.modules`. Names of attributes are those of OpenTelemetry's semantic conventions
for generative AI where there are some (`gen_ai.…`), else they begin with `codemode.`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

__all__ = ["record", "tracer"]


def tracer() -> Tracer | None:
    """Return this package's tracer, or None where the program has set up no tracer provider."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        return None
    from importlib.metadata import version  # takes a while to load

    made: Tracer = provider.get_tracer("codemode", version("codemode"))
    return made


def record(name: str, start: int, end: int, attributes: Mapping[str, str | bool | int | float]) -> None:
    """Record a span of the past, under the span that is current; times are nanoseconds since the epoch."""
    ours = tracer()
    if ours is not None:
        ours.start_span(name, start_time=start, attributes=attributes).end(end_time=max(start, end))
