"""`structured_output`: the answer of a whole task as one value of the caller's own schema, given once.

A value counts only when everything around the call has succeeded: the call itself after all hooks, and for a
call from a program the program too. Until then it is staged, and what fails drops it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from codemode import Call, Hooks, Outcome, Output, Success, Text, Tool, ToolError, text

__all__ = ["StructuredOutput"]

NAME = "structured_output"
ALREADY_RECORDED = "ALREADY_RECORDED"


class StructuredOutput:
    """One value that a task is to end with. Give the task's scope its `tools` and its `hooks`.

    `schema` is a JSON Schema object whose root is an object. Once a value is recorded, `is_recorded` is true and
    the turn is over: every later call in the scope is denied. Raises `ToolDefinitionError` for a schema that
    cannot be enforced.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._staged: dict[
            str, tuple[Call, bool]
        ] = {}  # by the outermost call; whether its own call succeeded
        self._recorded: dict[str, Any] | None = None
        self.tools: list[Tool] = [self._tool(schema)]
        self.hooks = Hooks(guards=(self._reason_to_deny,), observers=(self._ended,))

    @property
    def is_recorded(self) -> bool:
        """Whether the value is there: the turn is to end."""
        return self._recorded is not None

    @property
    def value(self) -> dict[str, Any]:
        """The recorded value, a copy. Raises `LookupError` while there is none."""
        if self._recorded is None:
            raise LookupError("no structured output has been recorded")
        return copy.deepcopy(self._recorded)

    def _tool(self, schema: Mapping[str, Any]) -> Tool:
        async def execute(arguments: dict[str, Any], call: Call) -> dict[str, Any]:
            if self._recorded is not None or self._staged:
                raise ToolError(
                    "structured output was given already; it is given once, at the end", code=ALREADY_RECORDED
                )
            self._staged[call.root_id] = (call, False)
            return {"recorded": True}

        return Tool(
            NAME,
            "Give the final answer of the task, as a value of this schema. Call it once, when everything else is "
            "done: after it nothing more is executed.",
            schema,
            Output(
                {
                    "type": "object",
                    "properties": {"recorded": {"const": True}},
                    "required": ["recorded"],
                    "additionalProperties": False,
                },
                _render,
                _meta,
            ),
            execute,
            read_only=True,
            timeout=10,
        )

    def _reason_to_deny(self, call: Call) -> str | None:
        if self._recorded is None or call.name == NAME:
            return None
        return f"structured output is recorded: the task is complete, so {call.name!r} is not executed"

    def _ended(self, call: Call, outcome: Outcome) -> None:
        """An observer: it sees each call of the scope when nothing can change its outcome any more."""
        if call.scope is not None and call.scope.registry.get(NAME) is not self.tools[0]:
            return  # of another task, in a scope over this one; ids of calls are only that task's own
        staged = self._staged.get(call.root_id)
        if staged is None and call.name == NAME and isinstance(outcome, Success):
            # A corrected program may have the call answered from an earlier run, whose value was dropped.
            staged = (call, False) if self._recorded is None and not self._staged else None
        if staged is None:
            return
        giving, accepted = staged
        if call.token is giving.token:
            if not isinstance(outcome, Success):
                del self._staged[call.root_id]
                return
            accepted = True
            self._staged[call.root_id] = (giving, True)
        if call.is_direct:  # the outermost one: everything around has ended
            del self._staged[call.root_id]
            if accepted and isinstance(outcome, Success):
                self._recorded = copy.deepcopy(dict(giving.arguments))


def _render(arguments: object, value: object) -> list[Text]:
    return [text("Structured output recorded.")]


def _meta(arguments: dict[str, Any], value: object) -> dict[str, Any]:
    return {"value": arguments}
