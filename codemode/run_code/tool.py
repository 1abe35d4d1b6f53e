"""`run_code` as a tool: its parameters, its value `{logs, result?}`, what the model sees of it."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NotRequired, TypedDict

from codemode.content import Image, Text
from codemode.errors import RunError, ToolError
from codemode.rendering import cut_middle_of, json_text
from codemode.run_code.pictures import taken_out
from codemode.schemas import TypedOutput, TypedParameters
from codemode.tools.call import Call, Failure, Outcome
from codemode.tools.definition import Output, Tool
from codemode.tools.registry import RUN_CODE
from codemode.tools.spill import Spill

__all__ = ["MAX_SHOWN_BYTES", "RunProgram", "RunValue", "run_code_tool"]

MAX_SHOWN_BYTES = 50_000
"""Bound of the text that a model sees of one run, UTF-8; a longer one is cut in the middle. About what
fits a model's context without crowding it; a program can print or return less, or page."""

_MORE = "print or return less, or return the part that is needed"

DESCRIPTION = (
    "Run one Python program that calls tools as functions; only what it prints or returns comes back."
)
"""What there is to say where no tools are known; `codemode.sdk.prompt` says the whole of it."""


class RunValue(TypedDict):
    """What a run gives: the printed lines, and the result if there is one."""

    logs: list[str]
    result: NotRequired[Any]


RunProgram = Callable[[str, Call], Awaitable[RunValue]]
"""`await run_program(source, call)`: the value, or raises `RunError`."""


def _parameters(code: str, description: str) -> None:
    """The parameters of run_code: the program, and in a few words what it is for."""


def run_code_tool(
    run_program: RunProgram,
    spill: Spill | None = None,
    packages: Sequence[str] = (),
    note: Callable[[str], str] = lambda call_id: "",
) -> Tool:
    """Return the `run_code` tool over something that runs programs. With `spill`, long text is kept whole.

    `packages` are the names of what a program can import beside the standard library. `note` gives, by the id of a
    call, what is shown below what the program gave.
    """

    async def execute(arguments: dict[str, Any], call: Call) -> RunValue:
        if not arguments["description"].strip():
            raise ToolError("description is empty; say in a few words what the program is for")
        return await run_program(arguments["code"], call)

    async def finalize(call: Call, outcome: Outcome) -> list[Text | Image] | None:
        lines = [block.text for block in outcome.content if isinstance(block, Text)]
        if isinstance(outcome, Failure) and isinstance(outcome.exception, RunError):
            lines = _failure_lines(outcome.exception)
        if below := note(call.id):
            lines += ["", below]
        shown = None if spill is None else await spill.shorten(call, "\n".join(lines), MAX_SHOWN_BYTES)
        shown = cut_middle_of(lines, MAX_SHOWN_BYTES, _MORE) if shown is None else shown
        return [Text(shown), *(block for block in outcome.content if isinstance(block, Image))]

    return Tool(
        RUN_CODE,
        f"{DESCRIPTION}\nInstalled beside the standard library: {', '.join(packages)}."
        if packages
        else DESCRIPTION,
        TypedParameters(_parameters),
        Output(TypedOutput(RunValue), functools.partial(_render, whole=spill is not None)),
        execute,
        read_only=True,  # each call that the program makes is looked at by itself
        finalize_content=finalize,
    )


def _render(arguments: object, value: RunValue, *, whole: bool) -> list[Text | Image]:
    """Show what was printed, then the result; cut in the middle, unless the `whole` is to be kept somewhere."""
    parts = list(value["logs"]) if value["logs"] != [""] else []
    pictures: list[Image] = []
    if "result" in value:
        result, pictures = taken_out(value["result"])
        shown = result if isinstance(result, str) else json_text(result)
        parts += [shown] if shown else []
    text = "\n".join(parts) if whole else cut_middle_of(parts, MAX_SHOWN_BYTES, _MORE)
    return [Text(text or "(the program ended without output)"), *pictures]


def _failure_lines(error: RunError) -> list[str]:
    """A failed run shows its kind and message first, then what was printed before."""
    return [f"Error: {error}", *(["", "Printed before:", *error.logs] if error.logs else [])]
