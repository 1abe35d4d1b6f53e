"""A program that takes a trace of runs and prints its spans as JSON; started by `test_telemetry`."""

import json
import sys

import trio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from codemode import CodeMode, Hooks, ToolError, as_json, tool
from codemode.tools.hooks import Deny

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)


@tool(render=as_json, parallel=True)
async def ok(n: int) -> int:
    with trace.get_tracer("mine").start_as_current_span("inside"):
        return n


@tool(render=as_json)
def in_thread() -> int:
    with trace.get_tracer("mine").start_as_current_span("in thread"):
        return 1


@tool(render=as_json)
async def secret(word: str) -> str:
    raise ToolError("no", code="NO")


@tool(render=as_json, timeout=30)
async def forbidden() -> None:
    """Never called."""


@tool(render=as_json)
async def slow() -> None:
    await trio.sleep_forever()


PROGRAM = """
import asyncio
await asyncio.gather(tools.ok(n=1), tools.ok(n=2))
await tools.in_thread()
for name, arguments in (("secret", {"word": "sesame"}), ("forbidden", {}), ("ok", {"n": "x"})):
    try:
        await tools[name](arguments)
    except ToolCallError:
        pass
"""


async def main():
    deny = Hooks(pre_execute=(lambda call: Deny("never") if call.name == "forbidden" else None,))
    async with CodeMode([ok, in_thread, secret, forbidden, slow], hooks=deny) as engine:
        with provider.get_tracer("mine").start_as_current_span("outer"):
            await engine.run(PROGRAM)
        await engine.run("1 / 0")
        await engine.call("ok", {"n": 3})
        with trio.move_on_after(0.5):
            await engine.run("tools.slow()")
    names = {span.context.span_id: span.name for span in exporter.get_finished_spans()}
    shown = [
        {
            "name": span.name,
            "parent": names.get(span.parent.span_id) if span.parent else None,
            "attributes": dict(span.attributes),
            "failed": span.status.status_code.name == "ERROR",
            "nanoseconds": span.end_time - span.start_time,
        }
        for span in exporter.get_finished_spans()
    ]
    json.dump(shown, sys.stdout)


trio.run(main)
