"""What a tool is: its names and schemas, how it runs, how its value is shown.

`@tool` makes one from a function; `Tool(...)` is the raw form, for tools that arrive with JSON Schema.
Everything that is wrong with a definition is said here, when it is made.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias, overload

import trio

from codemode.content import Content, Image, Text
from codemode.errors import ToolDefinitionError
from codemode.rendering import json_text
from codemode.schemas import (
    OutputSchema,
    ParameterSchema,
    RawOutput,
    RawParameters,
    TypedOutput,
    TypedParameters,
)
from codemode.tools.call import Call, Outcome
from codemode.tools.declared import (
    Approval,
    checked_approval,
    checked_lifespan,
    checked_method,
    checked_name,
    checked_timeout,
)
from codemode.tools.lifespans import Lifespan
from codemode.values import JSON

__all__ = ["Execute", "Output", "Parallel", "Render", "Tool", "as_json", "as_text", "tool"]

Render: TypeAlias = Callable[[Any, Any], Sequence[Text | Image]]
"""`render(arguments, value) -> content blocks`; pure and synchronous; both are frozen."""
PresentationMeta: TypeAlias = Callable[[Any, Any], JSON]
"""`presentation_meta(arguments, value) -> JSON for a user interface`; direct calls only."""
Execute: TypeAlias = Callable[[dict[str, Any], Call], Awaitable[object]]
"""`await execute(arguments, call) -> what the output schema takes`; raises to fail."""
Parallel: TypeAlias = bool | Callable[[dict[str, JSON]], bool]
_Blocks: TypeAlias = Sequence[Text | Image] | None
FinalizeContent: TypeAlias = Callable[[Call, Outcome], _Blocks | Awaitable[_Blocks]]
"""The tool's last word on what is shown: other blocks, or None for no change."""


class Output:
    """A tool's declared output: the schema of its value, and how a value is shown.

    `schema` is a JSON Schema object (`{}` for any JSON value). Raises `ToolDefinitionError` when the
    schema cannot be enforced or `render` is missing.
    """

    def __init__(
        self,
        schema: Mapping[str, JSON] | OutputSchema,
        render: Render,
        presentation_meta: PresentationMeta | None = None,
    ) -> None:
        if not callable(render):
            raise ToolDefinitionError(
                "output has no render; give render=as_text, render=as_json, or a function "
                "render(arguments, value) that returns content blocks"
            )
        if presentation_meta is not None and not callable(presentation_meta):
            raise ToolDefinitionError("presentation_meta must be a function of (arguments, value)")
        # Anything that is no schema object yet is handed on, so that the error names what is wrong with it.
        self.schema: OutputSchema = schema if hasattr(schema, "accept") else RawOutput(schema)  # type: ignore[assignment]
        self.render = render
        self.presentation_meta = presentation_meta


class Tool:
    """A tool: immutable once made.

    `parameters` is a JSON Schema object; `execute` an async function of the arguments and the `Call`.
    `parallel=True`, or a function of the frozen arguments that returns exactly True, says that calls may
    overlap; anything else is exclusive. `timeout` is in seconds, None for no limit of its own. `approval`
    says that somebody is asked before a call, and why. `read_only=True` says that no call changes anything
    outside the session, for policy that lets only such calls pass; anything else counts as a change.
    `lifespan` is an async context manager that the engine enters before the first call, once for all tools that
    share it, and leaves when it closes or the last of them is removed. `method="OBJECT.METHOD"` says that programs
    reach it as a method of an object of that name, and not as `tools.NAME` alone.
    Raises `ToolDefinitionError`, naming what is missing or cannot be enforced.
    """

    __slots__ = (
        "__weakref__",
        "approval",
        "description",
        "execute",
        "finalize_content",
        "lifespan",
        "method",
        "name",
        "output",
        "parallel",
        "parameters",
        "read_only",
        "timeout",
    )

    def __init__(
        self,
        name: str,
        description: str,
        parameters: Mapping[str, JSON] | ParameterSchema,
        output: Output,
        execute: Execute,
        *,
        parallel: Parallel = False,
        timeout: float | None = None,
        approval: Approval | None = None,
        read_only: bool = False,
        finalize_content: FinalizeContent | None = None,
        lifespan: Lifespan | None = None,
        method: str | None = None,
    ) -> None:
        self.name = checked_name(name)
        try:
            if not isinstance(output, Output):
                raise ToolDefinitionError("it declares no output; give output=Output(schema, render)")
            if not callable(execute):
                raise ToolDefinitionError(
                    "it has no body; give execute, an async function of (arguments, call)"
                )
            if not isinstance(description, str):
                raise ToolDefinitionError(f"its description is {type(description).__name__}, not text")
            self.description = inspect.cleandoc(description)
            self.parameters: ParameterSchema = (
                parameters if hasattr(parameters, "accept") else RawParameters(parameters)  # type: ignore[assignment]
            )
            self.output = output
            self.execute = execute
            self.parallel = parallel
            self.timeout = checked_timeout(timeout)
            self.approval = checked_approval(approval)
            self.read_only = read_only is True
            self.finalize_content = finalize_content
            self.lifespan = checked_lifespan(lifespan)
            self.method = checked_method(method)
        except ToolDefinitionError as error:
            raise ToolDefinitionError(f"tool {self.name!r}: {error}") from None

    def __repr__(self) -> str:
        return f"<Tool {self.signature}>"

    @property
    def signature(self) -> str:
        """The call as Python would write it, for error messages: `grep(pattern: str, path: str = '.')`."""
        return (self.method or self.name) + self.parameters.signature

    def describe(self) -> dict[str, JSON]:
        """Return what a model is told of it: name, description, parameters (JSON Schema)."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters.json_schema,
        }

    def may_overlap(self, arguments: dict[str, JSON]) -> bool:
        """Return whether a call with these frozen arguments may run beside others. Never raises."""
        if callable(self.parallel):
            try:
                return self.parallel(arguments) is True
            except Exception:
                return False  # a classifier that fails has not said that calls may overlap
        return self.parallel is True

    def reason_to_ask(self, arguments: dict[str, JSON]) -> str | None:
        """Return why somebody is to be asked before a call with these arguments, or None."""
        reason = self.approval(arguments) if callable(self.approval) else self.approval
        if reason is not None and not isinstance(reason, str):
            raise TypeError(f"approval of tool {self.name!r} gives a reason as text, or None, not {reason!r}")
        return reason


def as_text(arguments: object, value: JSON) -> Content:
    """Render a string as it is, anything else as JSON."""
    return (Text(value if isinstance(value, str) else json_text(value)),)


def as_json(arguments: object, value: JSON) -> Content:
    """Render any value as indented JSON."""
    return (Text(json_text(value)),)


@overload
def tool(
    *,
    render: Render,
    name: str | None = ...,
    description: str | None = ...,
    parallel: Parallel = ...,
    timeout: float | None = ...,
    approval: Approval | None = ...,
    read_only: bool = ...,
    presentation_meta: PresentationMeta | None = ...,
    finalize_content: FinalizeContent | None = ...,
    lifespan: Lifespan | None = ...,
    method: str | None = ...,
) -> Callable[[Callable[..., object]], Tool]: ...


@overload
def tool(function: Callable[..., object], /) -> Tool: ...


def tool(
    function: Callable[..., object] | None = None,
    /,
    *,
    render: Render | None = None,
    name: str | None = None,
    description: str | None = None,
    parallel: Parallel = False,
    timeout: float | None = None,
    approval: Approval | None = None,
    read_only: bool = False,
    presentation_meta: PresentationMeta | None = None,
    finalize_content: FinalizeContent | None = None,
    lifespan: Lifespan | None = None,
    method: str | None = None,
) -> Tool | Callable[[Callable[..., object]], Tool]:
    """Make a tool from a function.

    The signature is the parameter schema, the return annotation the output schema, the docstring the
    description. An async function runs in trio, a synchronous one in a worker thread. A parameter that is
    annotated `Call` receives the call itself and is no part of the schema. `render` must be said:
    `as_text`, `as_json`, or a function of the named arguments (a frozen dict) and the value.
    Raises `ToolDefinitionError`, naming what is missing.
    """

    def make(body: Callable[..., object]) -> Tool:
        tool_name = name if name is not None else getattr(body, "__name__", "")
        try:
            return _from_function(tool_name, body)
        except ToolDefinitionError as error:
            known = str(error).startswith("tool ")
            raise error if known else ToolDefinitionError(f"tool {tool_name!r}: {error}") from None

    def _from_function(tool_name: str, body: Callable[..., object]) -> Tool:
        if not callable(body) or isinstance(body, type):
            raise ToolDefinitionError("@tool takes a function")
        try:
            hints = typing.get_type_hints(body, include_extras=True)
        except Exception as error:
            raise ToolDefinitionError(f"its annotations cannot be resolved: {error}") from None
        if "return" not in hints:
            raise ToolDefinitionError("it has no return annotation; write -> and the type of its value")
        if render is None:
            raise ToolDefinitionError(
                "it has no render; write @tool(render=as_text), @tool(render=as_json), or a function "
                "render(arguments, value) that returns content blocks"
            )
        injected = frozenset(key for key, hint in hints.items() if hint is Call and key != "return")
        parameters = TypedParameters(body, skip=injected)
        output = Output(TypedOutput(hints["return"]), render, presentation_meta)
        return Tool(
            tool_name,
            description if description is not None else (inspect.getdoc(body) or ""),
            parameters,
            output,
            _execute_function(body, injected),
            parallel=parallel,
            timeout=timeout,
            approval=approval,
            read_only=read_only,
            finalize_content=finalize_content,
            lifespan=lifespan,
            method=method,
        )

    return make if function is None else make(function)


def _execute_function(body: Callable[..., object], injected: frozenset[str]) -> Execute:
    positional = [key for key, p in inspect.signature(body).parameters.items() if p.kind is p.POSITIONAL_ONLY]

    def bind(arguments: dict[str, Any], call: Call) -> tuple[list[Any], dict[str, Any]]:
        named = dict(arguments)
        named.update(dict.fromkeys(injected, call))
        return [named.pop(key) for key in positional], named

    if inspect.iscoroutinefunction(body):

        async def execute_async(arguments: dict[str, Any], call: Call) -> object:
            args, kwargs = bind(arguments, call)
            return await body(*args, **kwargs)

        return execute_async

    async def execute_in_thread(arguments: dict[str, Any], call: Call) -> object:
        args, kwargs = bind(arguments, call)

        def run() -> object:
            returned = body(*args, **kwargs)
            if inspect.iscoroutine(returned):
                returned.close()
                raise TypeError("the function returned a coroutine; declare it with async def")
            return returned

        # A thread cannot be stopped: when the call is cancelled it is left behind, and its result dropped.
        return await trio.to_thread.run_sync(run, abandon_on_cancel=True)

    return execute_in_thread
