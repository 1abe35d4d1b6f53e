"""What the signatures of 1,000 tools take: their size, and the time to write them.

The time stands against that of `json.dumps` over the same tools' schemas, taken in the same seconds, so that a slow
machine slows both.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from codemode import Output, Tool, as_json
from codemode.sdk.bindings import binding
from codemode.sdk.prompt import prompt, tokens
from codemode.sdk.signatures import signatures

__all__ = ["COUNT", "SignatureFigures", "figures"]

COUNT = 1_000
_ROUNDS = 3


class SignatureFigures(Struct, frozen=True):
    """Figures for `COUNT` tools. Sizes are UTF-8 bytes and tokens of four characters, times are seconds.

    `schema_bytes` is what the same tools take as JSON Schema definitions, which a model would read otherwise.
    """

    text_bytes: int
    text_tokens: int
    schema_bytes: int
    seconds: float
    times_json_dumps: float
    prompt_tokens_within_budget: int
    first_run_seconds: float

    @property
    def size_ratio(self) -> float:
        """The text's size against that of the JSON Schemas."""
        return self.text_bytes / self.schema_bytes


async def _nothing(arguments: dict[str, Any], call: object) -> object:
    return None


def _tool(number: int) -> Tool:
    noun = ("issue", "branch", "commit", "user", "team", "file", "page", "alert", "invoice", "order")[
        number % 10
    ]
    parameters = {
        "type": "object",
        "properties": {
            f"{noun}_id": {"type": "integer", "description": f"the number of the {noun}"},
            "state": {"enum": ["open", "closed"], "default": "open"},
            "labels": {"type": "array", "items": {"type": "string"}},
            "page": {"type": "integer", "minimum": 1, "default": 1},
        },
        "required": [f"{noun}_id"],
    }
    value = {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            f"{noun}_name": {"type": "string"},
            "author": {"type": "object", "title": "Author", "properties": {"login": {"type": "string"}}},
        },
    }
    text = f"Change one {noun} of system {number}. It needs the right to do so."
    return Tool(f"change_{noun}_{number}", text, parameters, Output(value, as_json), _nothing)


def _shortest(work: Callable[[], object]) -> float:
    found = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def figures(count: int = COUNT) -> SignatureFigures:
    """Measure and return the figures. Takes a few seconds."""
    tools = [_tool(number) for number in range(count)]
    described = [{**each.describe(), "output": each.output.schema.json_schema} for each in tools]
    start = time.perf_counter()
    for each in tools:
        binding(each)
    first_run = time.perf_counter() - start
    text = signatures(tools)
    seconds = _shortest(lambda: signatures(tools))
    dumps = _shortest(lambda: json.dumps(described))
    return SignatureFigures(
        text_bytes=len(text.encode()),
        text_tokens=tokens(text),
        schema_bytes=len(json.dumps(described).encode()),
        seconds=seconds,
        times_json_dumps=seconds / dumps,
        prompt_tokens_within_budget=tokens(prompt(tools)),
        first_run_seconds=first_run,
    )


if __name__ == "__main__":
    found = figures()
    print(f"signatures of {COUNT:,} tools: {found.text_bytes:,} bytes, {found.text_tokens:,} tokens")
    print(f"  against their JSON Schemas: {found.size_ratio:.2f} of the size")
    print(f"  written in {found.seconds:.3f} s, {found.times_json_dumps:.1f} times json.dumps of the schemas")
    print(f"  prompt within the budget: {found.prompt_tokens_within_budget:,} tokens")
    print(f"  what programs search, made once: {found.first_run_seconds:.3f} s")
