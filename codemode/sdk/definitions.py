"""Tools as each provider wants them defined, from what `Scope.describe()` says of them. Pure functions over JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from codemode.tools.registry import RUN_CODE
from codemode.values import JSON

__all__ = ["for_anthropic", "for_mcp", "for_openai_chat", "for_openai_responses"]

Definition = dict[str, Any]
_Described = Sequence[Mapping[str, JSON]]


def for_anthropic(described: _Described) -> list[Definition]:
    """Return the `tools` of the Anthropic Messages API."""
    return [
        {"name": each["name"], "description": each["description"], "input_schema": each["parameters"]}
        for each in described
    ]


def for_openai_responses(described: _Described) -> list[Definition]:
    """Return the `tools` of the OpenAI Responses API."""
    return [{"type": "function", **_function(each)} for each in described]


def for_openai_chat(described: _Described) -> list[Definition]:
    """Return the `tools` of the OpenAI Chat Completions API."""
    return [{"type": "function", "function": _function(each)} for each in described]


def for_mcp(described: _Described) -> list[Definition]:
    """Return the `tools` of an MCP `tools/list` result."""
    return [
        {"name": each["name"], "description": each["description"], "inputSchema": each["parameters"]}
        for each in described
    ]


def _function(each: Mapping[str, JSON]) -> Definition:
    # Strict is what the provider enforces while it decodes; of all schemas, that of run_code is sure to be one it can.
    strict = each["name"] == RUN_CODE
    parameters = {**each["parameters"], "additionalProperties": False} if strict else each["parameters"]
    return {
        "name": each["name"],
        "description": each["description"],
        "parameters": parameters,
        "strict": strict,
    }
