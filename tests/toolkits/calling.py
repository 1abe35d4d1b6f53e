"""Calls through a whole engine: by a model, and by a program. What they give is to be the same."""

from __future__ import annotations

import json
from typing import Any

from codemode import CodeMode, Failure, Success
from codemode.content import text_of
from codemode.engine import Scope
from codemode.tools.call import FailureReason
from codemode.values import thaw

__all__ = ["CodeMode", "both", "failure", "from_program", "program_failure", "shown", "value"]


async def value(scope: Scope, name: str, /, **arguments: Any) -> Any:
    outcome = await scope.call(name, arguments)
    assert isinstance(outcome, Success), outcome.error
    return thaw(outcome.value)


async def failure(scope: Scope, name: str, /, **arguments: Any) -> FailureReason:
    outcome = await scope.call(name, arguments)
    assert isinstance(outcome, Failure), outcome.value
    return outcome.error


async def shown(scope: Scope, name: str, /, **arguments: Any) -> str:
    return text_of((await scope.call(name, arguments)).content)


async def from_program(scope: Scope, name: str, /, **arguments: Any) -> Any:
    result = await scope.run(f"return tools[{name!r}](**{arguments!r})")
    assert result.error is None, result.error
    return result.result


async def both(scope: Scope, name: str, /, **arguments: Any) -> Any:
    """The value that a model's call gives, which a program's call has to give, too."""
    direct = await value(scope, name, **arguments)
    nested = await from_program(scope, name, **arguments)
    assert json.dumps(nested, sort_keys=True) == json.dumps(direct, sort_keys=True)
    return direct


async def program_failure(scope: Scope, name: str, /, **arguments: Any) -> tuple[str | None, str]:
    """Code and message that a program catches."""
    result = await scope.run(
        f"try:\n    tools[{name!r}](**{arguments!r})\n"
        "except ToolCallError as error:\n    return [error.code, error.message]"
    )
    assert result.error is None, result.error
    code, message = result.result
    return code, message
