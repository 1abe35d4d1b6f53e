"""P11: what a model reads of 10, 100 and 1,000 tools: its size, the time to write it, and both within the budget."""

from __future__ import annotations

import json
from collections.abc import Callable
from time import perf_counter
from typing import Any

import trio
from msgspec import Struct

from benchmarks.bench import Bench
from benchmarks.records import Check, Grid, Row, Series, Spread, spread_of
from benchmarks.toolset import toolset
from codemode import Tool
from codemode.sdk.bindings import binding
from codemode.sdk.prompt import DEFAULT_BUDGET, prompt, tokens
from codemode.sdk.signatures import signatures

__all__ = ["COUNTS", "Written", "measure", "written"]

COUNTS = (10, 100, 1_000)
SIZE_BOUND = 0.75
TIME_BOUND = 25.0
_NO_BUDGET = 10**9


class Written(Struct, frozen=True, kw_only=True):
    """What is written of some tools. Sizes are UTF-8 bytes; times are samples in seconds.

    `definitions` is what the same tools take as definitions with JSON Schema, which a model would read otherwise.
    """

    count: int
    signatures: str
    prompt: str
    within_budget: str
    definitions: bytes
    search_seconds: float
    signature_seconds: list[float]
    prompt_seconds: list[float]
    budget_seconds: list[float]
    definition_seconds: list[float]

    @property
    def size_ratio(self) -> float:
        """The signatures' bytes against those of the definitions."""
        return len(self.signatures.encode()) / len(self.definitions)

    @property
    def time_ratios(self) -> list[float]:
        """How many times as long the signatures took as `json.dumps` of the definitions, round by round."""
        return [
            ours / theirs
            for ours, theirs in zip(self.signature_seconds, self.definition_seconds, strict=True)
        ]


def written(count: int, rounds: int) -> Written:
    """Write everything of that many tools and take the times, the sides in turn. Raises `AssertionError` if the same
    tools ever give another text."""
    tools = toolset(count)
    described = [_described(each) for each in tools]
    start = perf_counter()
    for each in tools:
        binding(each)
    search_seconds = perf_counter() - start
    work: dict[str, Callable[[], str]] = {
        "signatures": lambda: signatures(tools),
        "prompt": lambda: prompt(tools, budget=_NO_BUDGET),
        "within_budget": lambda: prompt(tools),
        "definitions": lambda: json.dumps(described),
    }
    texts = {name: do() for name, do in work.items()}
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, do in work.items():
            start = perf_counter()
            text = do()
            seconds[name].append(perf_counter() - start)
            if text != texts[name]:
                raise AssertionError(f"{name}: the same tools gave another text")
    return Written(
        count=count,
        signatures=texts["signatures"],
        prompt=texts["prompt"],
        within_budget=texts["within_budget"],
        definitions=texts["definitions"].encode(),
        search_seconds=search_seconds,
        signature_seconds=seconds["signatures"],
        prompt_seconds=seconds["prompt"],
        budget_seconds=seconds["within_budget"],
        definition_seconds=seconds["definitions"],
    )


def _described(each: Tool) -> dict[str, Any]:
    return {**each.describe(), "output": each.output.schema.json_schema}


async def measure(bench: Bench) -> Row:
    counts = COUNTS if bench.scale >= 0.1 else COUNTS[:2]
    found = [await trio.to_thread.run_sync(written, count, bench.count(9, 2)) for count in counts]
    most = found[-1]
    rules = tokens(prompt([]))
    return Row(
        id="P11",
        name="signatures",
        title=f"What a model reads of {most.count:,} tools with every feature of JSON Schema",
        checks=[
            Check(
                against="json.dumps of their definitions, in time",
                unit="×",
                bound=TIME_BOUND,
                figure=spread_of(most.time_ratios),
            ),
            Check(
                against="their definitions as JSON, in bytes",
                unit="×",
                bound=SIZE_BOUND,
                figure=_same(most.size_ratio),
            ),
            Check(
                against="the prompt within its budget",
                unit="tokens",
                bound=float(DEFAULT_BUDGET + rules),
                figure=_same(float(tokens(most.within_budget))),
            ),
        ],
        series=[
            Series(
                engine="codemode", what=f"{what}, {each.count:,} tools", unit="s", spread=spread_of(samples)
            )
            for each in found
            for what, samples in (
                ("signatures", each.signature_seconds),
                ("prompt", each.prompt_seconds),
                ("prompt within the budget", each.budget_seconds),
            )
        ],
        grids=[
            Grid(
                title="Sizes",
                columns=[
                    "tools",
                    "signatures, bytes",
                    "tokens",
                    "definitions as JSON, bytes",
                    "prompt, bytes",
                    "tokens",
                    "within the budget, bytes",
                    "tokens",
                    "what programs search, made once, ms",
                ],
                lines=[(f"{each.count:,}", _sizes(each)) for each in found],
            )
        ],
        notes=[
            "Two tools in ten are plain; the others have references, unions, merged schemas, tuples, maps, defaults, "
            "names that are no identifiers, or hostile text. Tokens are four characters each, an estimate: providers "
            "do not publish how they count. Times are of the second and later calls; nothing is kept between them. "
            f"The budget is {DEFAULT_BUDGET:,} tokens for the tools, beside the rules of a program."
        ],
    )


def _same(figure: float) -> Spread:
    """A figure that is the same each time."""
    return spread_of([figure])


def _sizes(each: Written) -> list[float | str]:
    sizes: list[float | str] = [float(len(each.signatures.encode())), float(tokens(each.signatures))]
    sizes.append(float(len(each.definitions)))
    for text in (each.prompt, each.within_budget):
        sizes += [float(len(text.encode())), float(tokens(text))]
    return [*sizes, each.search_seconds * 1000]
