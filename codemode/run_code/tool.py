"""`run_code` as a tool: its parameters, its value `{logs, result?}`, what the model sees of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NotRequired, TypedDict

from codemode.content import Text
from codemode.errors import RunError, ToolError
from codemode.rendering import cut_middle, json_text
from codemode.tools.call import Call, Failure, Outcome
from codemode.tools.definition import Output, Tool
from codemode.tools.registry import RUN_CODE
from codemode.schemas import TypedOutput, TypedParameters
from codemode.values import JSON

__all__ = ["MAX_SHOWN_BYTES", "RunProgram", "RunValue", "run_code_tool"]

MAX_SHOWN_BYTES = 50_000
"""Bound of the text that a model sees of one run, UTF-8; a longer one is cut in the middle. About what
fits a model's context without crowding it; a program can print or return less, or page."""

_MORE = "print or return less, or return the part that is needed"

DESCRIPTION = """\
Run one Python program that calls tools as functions; only what it prints or returns comes back.

The program is the body of a function: `return`, and `await` where it wants calls to overlap, work at the
top level. Tools are `tools.name(argument=value)` and give plain dicts, lists, strings and numbers; a
failed call raises ToolCallError. A program that uses `await` awaits every tool call (asyncio.gather
overlaps them); one that does not gets values directly. Nothing is kept from one run to the next. There is
no network, file or process access except through tools."""


class RunValue(TypedDict):
    """What a run gives: the printed lines, and the result if there is one."""

    logs: list[str]
    result: NotRequired[Any]


RunProgram = Callable[[str, Call], Awaitable[RunValue]]
"""`await run_program(source, call)`: the value, or raises `RunError`."""


def _parameters(code: str, description: str) -> None:
    """The parameters of run_code: the program, and in a few words what it is for."""


def run_code_tool(run_program: RunProgram) -> Tool:
    """Return the `run_code` tool over something that runs programs."""

    async def execute(arguments: dict[str, Any], call: Call) -> RunValue:
        if not arguments["description"].strip():
            raise ToolError("description is empty; say in a few words what the program is for")
        return await run_program(arguments["code"], call)

    return Tool(
        RUN_CODE,
        DESCRIPTION,
        TypedParameters(_parameters),
        Output(TypedOutput(RunValue), _render),
        execute,
        finalize_content=_show_failure,
    )


def shown_result(logs: list[str], result: JSON, has_result: bool) -> str:
    """Return the text that a model sees of a run that ended well."""
    parts = ["\n".join(logs)] if logs else []
    if has_result:
        parts.append(result if isinstance(result, str) else json_text(result))
    text = "\n".join(part for part in parts if part)
    return cut_middle(text or "(the program ended without output)", MAX_SHOWN_BYTES, _MORE)


def _render(arguments: object, value: RunValue) -> list[Text]:
    return [Text(shown_result(value["logs"], value.get("result"), "result" in value))]


def _show_failure(call: Call, outcome: Outcome) -> list[Text] | None:
    """A failed run shows its kind and message first, then what was printed before."""
    if not isinstance(outcome, Failure) or not isinstance(outcome.exception, RunError):
        return None
    error = outcome.exception
    text = f"Error: {error}"
    if error.logs:
        room = max(MAX_SHOWN_BYTES - len(text.encode()) - 64, MAX_SHOWN_BYTES // 4)
        text += "\n\nPrinted before:\n" + cut_middle("\n".join(error.logs), room, _MORE)
    return [Text(cut_middle(text, MAX_SHOWN_BYTES, _MORE))]
