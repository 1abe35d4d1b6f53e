"""What a provider's converter can produce from an answer: the first of three lists that stay in step.

`blocks.AssistantBlock` says what a message of the model can carry, and `content.to_block` is the one way from
here to there. Data only: which piece of whose wire format becomes which result is said in `anthropic_wire` and
`openai_wire`. A new result is one more class here, in `Result` or in `NotContent`; type checking and a test
then ask for its block.
"""

from __future__ import annotations

from typing import TypeAlias, get_args

from msgspec import Struct

from codemode.values import JSON

__all__ = [
    "NOT_CONTENT",
    "BinaryResult",
    "ChoiceResult",
    "CodeExecutionResult",
    "ComputerCallResult",
    "ContainerUploadResult",
    "ContentResult",
    "CustomToolCallResult",
    "ExecutableCodeResult",
    "FileSearchResult",
    "LocalShellCallResult",
    "McpApprovalRequestResult",
    "McpCallResult",
    "McpListToolsResult",
    "NotContent",
    "ObjectResult",
    "OtherResult",
    "ReasoningResult",
    "Received",
    "RedactedThinkingResult",
    "RerankingResult",
    "Result",
    "ServerToolCallResult",
    "StopResult",
    "TextResult",
    "ThinkingResult",
    "ToolCallResult",
    "ToolSearchResult",
    "UsageResult",
    "VectorResult",
    "WebFetchResult",
    "WebSearchResult",
]


class Received(Struct, frozen=True):
    """The root of all results. `wire` is the piece as it came: frozen JSON, with fields unknown to us."""

    wire: dict[str, JSON]


class TextResult(Received, frozen=True):
    """Text that the model wrote."""


class ThinkingResult(Received, frozen=True):
    """Thinking with its signature."""


class RedactedThinkingResult(Received, frozen=True):
    """Encrypted thinking."""


class ReasoningResult(Received, frozen=True):
    """A reasoning item: an id, a summary, perhaps encrypted content."""


class ToolCallResult(Received, frozen=True):
    """A call of one of our tools, with arguments."""


class CustomToolCallResult(Received, frozen=True):
    """A call of one of our tools, with free text instead of arguments."""


class ServerToolCallResult(Received, frozen=True):
    """A call of a tool that the provider runs itself."""


class WebSearchResult(Received, frozen=True):
    """A web search that the provider made."""


class WebFetchResult(Received, frozen=True):
    """A page that the provider fetched."""


class FileSearchResult(Received, frozen=True):
    """A search in files that the provider holds."""


class ExecutableCodeResult(Received, frozen=True):
    """Code that the provider is about to run for the model."""


class CodeExecutionResult(Received, frozen=True):
    """What code gave that the provider ran."""


class ComputerCallResult(Received, frozen=True):
    """An action on a screen that the model asks for."""


class LocalShellCallResult(Received, frozen=True):
    """A shell command that the model asks for."""


class McpCallResult(Received, frozen=True):
    """A call of an MCP server, made by the provider, or what it gave."""


class McpListToolsResult(Received, frozen=True):
    """The tools of an MCP server, as the provider saw them."""


class McpApprovalRequestResult(Received, frozen=True):
    """The provider asks whether it may call an MCP server."""


class ToolSearchResult(Received, frozen=True):
    """What a search for tools gave, made by the provider."""


class ContainerUploadResult(Received, frozen=True):
    """A file that was put into the provider's container."""


class OtherResult(Received, frozen=True):
    """A piece of a type that this version does not know; kept as it came."""


ContentResult: TypeAlias = (
    TextResult
    | ThinkingResult
    | RedactedThinkingResult
    | ReasoningResult
    | ToolCallResult
    | CustomToolCallResult
    | ServerToolCallResult
    | WebSearchResult
    | WebFetchResult
    | FileSearchResult
    | ExecutableCodeResult
    | CodeExecutionResult
    | ComputerCallResult
    | LocalShellCallResult
    | McpCallResult
    | McpListToolsResult
    | McpApprovalRequestResult
    | ToolSearchResult
    | ContainerUploadResult
    | OtherResult
)
"""The results that an assistant message can hold."""


# ------------------------------------------------------------------------- deliberately not content


class UsageResult(Received, frozen=True):
    """How many tokens an answer took."""


class StopResult(Received, frozen=True):
    """Why the model stopped."""


class VectorResult(Received, frozen=True):
    """An embedding."""


class ObjectResult(Received, frozen=True):
    """An object of a schema, read out of an answer."""


class BinaryResult(Received, frozen=True):
    """A picture, sound or file that was made, apart from a conversation."""


class RerankingResult(Received, frozen=True):
    """An order of documents."""


class ChoiceResult(Received, frozen=True):
    """Several answers to choose from."""


NotContent: TypeAlias = (
    UsageResult | StopResult | VectorResult | ObjectResult | BinaryResult | RerankingResult | ChoiceResult
)
"""The results that no assistant message holds, each named on purpose."""

NOT_CONTENT: tuple[type[Received], ...] = get_args(NotContent)

Result: TypeAlias = ContentResult | NotContent
