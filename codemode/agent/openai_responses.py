"""A model of the OpenAI Responses API, through its SDK (extra `openai`).

The SDK sends requests, knows keys and addresses (`OPENAI_API_KEY`, `OPENAI_BASE_URL`) and names errors. The bytes
of an answer are read here, by `conversation.openai_stream`, so that every field is kept as it was sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from codemode.agent.provider import Show, missing_extra, read_answer, status_error
from codemode.conversation import AssistantTurn, Request, openai_wire
from codemode.conversation.openai_stream import OpenAIStream
from codemode.errors import ProviderError, StreamError
from codemode.sdk.definitions import for_openai_responses
from codemode.values import JSON

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["OpenAIResponses"]


class OpenAIResponses:
    """A `Provider`; an async context manager that closes the client it made.

    `client` is an `AsyncOpenAI` of your own (left open), else one is made from the environment. `idle_seconds`
    bounds how long nothing may come, and ten times as long nothing but pings.
    Raises `ProviderError` if the SDK is not installed, or finds no key.
    """

    name = openai_wire.NAME

    def __init__(self, model: str, *, client: AsyncOpenAI | None = None, idle_seconds: float = 120.0) -> None:
        try:
            import openai
        except ImportError:
            raise missing_extra("openai") from None
        self.model = model
        self._own = client is None
        try:
            self._client = openai.AsyncOpenAI() if client is None else client
        except openai.OpenAIError as error:
            raise ProviderError(str(error)) from None
        self._idle_seconds = idle_seconds

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._own:
            await self._client.close()

    def define(self, described: Sequence[dict[str, JSON]]) -> list[dict[str, JSON]]:
        """See `Provider.define`."""
        return for_openai_responses(described)

    async def respond(self, request: Request, show: Show) -> AssistantTurn:
        """See `Provider.respond`. The SDK itself tries nothing again: the loop does, and says so in the log."""
        import httpx2
        import openai

        body = openai_wire.request_body(request)
        create = self._client.with_options(max_retries=0, timeout=self._idle_seconds).responses
        known = {name: body.pop(name) for name in ("model", "input")}
        try:
            async with (
                create.with_streaming_response.create(**known, stream=True, extra_body=body) as response,
                aclosing(cast("Any", response.iter_bytes())) as chunks,
            ):
                return await read_answer(chunks, OpenAIStream(), show, self._idle_seconds)
        except openai.APIStatusError as error:
            after = error.response.headers.get("retry-after")
            raise status_error(self.name, error.status_code, error.body, error.message, after) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise ProviderError(f"{self.name} cannot be reached: {_words(cause)}", retryable=True) from None
        except httpx2.HTTPError as error:
            raise StreamError(f"the stream broke off: {_words(error)}") from None
        except (openai.OpenAIError, TypeError) as error:
            raise ProviderError(f"the request cannot be sent: {_words(error)}") from None


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__
