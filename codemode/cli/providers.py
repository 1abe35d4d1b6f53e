"""The models that commands talk to: by the name of a provider and that of a model."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from codemode.agent import AnthropicMessages, OpenAIResponses, Provider
from codemode.errors import ProviderError, ToolDefinitionError

__all__ = ["AGENT_MODEL", "PROVIDERS", "provider_from_environment"]

PROVIDERS: dict[str, Callable[[str], AbstractAsyncContextManager[Provider]]] = {
    "anthropic": AnthropicMessages,
    "openai": OpenAIResponses,
}

AGENT_MODEL = "CODEMODE_AGENT_MODEL"
"""The variable that names the model of agents, where the command itself talks to none."""


def provider_from_environment() -> AbstractAsyncContextManager[Provider]:
    """Return the model that the environment names, to be entered.

    Raises `ToolDefinitionError` when it names none, or names it wrongly, or there is no SDK or no key for it.
    """
    given = os.environ.get(AGENT_MODEL, "")
    name, _, model = given.partition(":")
    if name not in PROVIDERS or not model.strip():
        said = f"{AGENT_MODEL}={given!r}" if given else f"{AGENT_MODEL} is not set"
        raise ToolDefinitionError(
            f"agents need a model, and {said}; set it to PROVIDER:MODEL, the provider being "
            f"{' or '.join(sorted(PROVIDERS))}, or use `codemode chat`, whose model they share"
        )
    try:
        return PROVIDERS[name](model.strip())
    except ProviderError as error:
        raise ToolDefinitionError(str(error)) from None
