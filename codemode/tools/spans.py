"""Hooks that make a span of every call, direct or nested: `execute_tool NAME`, with the outcome it ended in.

A span is current while the body runs, so that calls that a program makes, and what a body does, come under it. It
holds no arguments, values or content.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from codemode.errors import RunError
from codemode.telemetry import tracer
from codemode.tools.call import Call, Failure, Outcome, Token
from codemode.tools.hooks import Hooks

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

__all__ = ["span_hooks"]


def span_hooks() -> Hooks | None:
    """Return the hooks, to be the first of their scope; None where nobody takes a trace."""
    ours = tracer()
    if ours is None:
        return None
    spans = _Spans(ours)
    return Hooks(around=(spans.around,), observers=(spans.observe,))


class _Spans:
    def __init__(self, tracer: Tracer) -> None:
        from opentelemetry.trace import StatusCode, use_span

        self._tracer = tracer
        self._use_span = use_span
        self._error = StatusCode.ERROR
        self._open: dict[Token, Span] = {}

    async def around(self, call: Call, proceed: Callable[[], Awaitable[Outcome]]) -> Outcome:
        span = self._open[call.token] = self._start(call)
        with self._use_span(span, end_on_exit=False, record_exception=False, set_status_on_exception=False):
            return await proceed()

    def observe(self, call: Call, outcome: Outcome) -> None:
        # A call that was refused before its body has a span of its end alone.
        span = self._open.pop(call.token, None) or self._start(call)
        if isinstance(outcome, Failure):
            error = outcome.exception
            kind = error.kind if isinstance(error, RunError) else None
            span.set_attribute("error.type", kind or outcome.error.code or outcome.error.type or "_OTHER")
            span.set_status(self._error, outcome.error.message)
        span.end()

    def _start(self, call: Call) -> Span:
        return self._tracer.start_span(
            f"execute_tool {call.name}",
            attributes={
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": call.name,
                "gen_ai.tool.type": "function",
                "gen_ai.tool.call.id": call.id,
            },
        )
