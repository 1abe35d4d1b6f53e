"""What messages carry: the blocks of an assistant message (the second of three lists) and of a user message.

A block *is* the piece of wire format that it was received as or will be sent as: `wire`, frozen, in its order,
with ids, signatures and fields unknown to us. Its properties read from there and nothing writes there, so what
goes back is what came. How the lists stay in step: see `results` and `content`.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from codemode.values import JSON, FrozenDict, freeze

__all__ = [
    "ITEM_CALLS",
    "AssistantBlock",
    "Block",
    "CodeExecution",
    "ComputerCall",
    "ContainerUpload",
    "CustomToolUse",
    "Document",
    "ExecutableCode",
    "FileSearch",
    "Image",
    "LocalShellCall",
    "McpApprovalRequest",
    "McpCall",
    "McpListTools",
    "Other",
    "OtherInput",
    "Reasoning",
    "RedactedThinking",
    "ServerToolUse",
    "Text",
    "Thinking",
    "ToolResult",
    "ToolSearch",
    "ToolUse",
    "UserBlock",
    "WebFetch",
    "WebSearch",
    "image",
    "text",
    "tool_result",
    "user_block",
]


class Block(Struct, frozen=True):
    """The root of all blocks."""

    wire: dict[str, JSON]

    @property
    def type(self) -> str:
        """The type by its wire name."""
        return _text(self.wire.get("type"))


class Text(Block, frozen=True):
    """Text, from either side."""

    @property
    def text(self) -> str:
        parts = self.wire.get("content")
        if isinstance(parts, list):  # a message item holds its text in parts
            return "".join(
                _text(part.get("text") or part.get("refusal")) for part in parts if isinstance(part, dict)
            )
        return _text(self.wire.get("text"))


class Thinking(Block, frozen=True):
    """Signed thinking. It goes back byte for byte."""

    @property
    def thinking(self) -> str:
        return _text(self.wire.get("thinking"))

    @property
    def signature(self) -> str:
        return _text(self.wire.get("signature"))


class RedactedThinking(Block, frozen=True):
    """Encrypted thinking: nothing in it can be read, and it goes back all the same, untouched."""

    @property
    def data(self) -> str:
        return _text(self.wire.get("data"))


class Reasoning(Block, frozen=True):
    """A reasoning item; its encrypted content is opaque and goes back untouched."""

    @property
    def summary(self) -> str:
        parts = self.wire.get("summary")
        return "\n".join(_text(part.get("text")) for part in parts if isinstance(part, dict)) if parts else ""


ITEM_CALLS = frozenset({"function_call", "custom_tool_call"})
"""Calls that are items with an id of their own beside that of the call (`call_id`), which a result refers to."""


class ToolUse(Block, frozen=True):
    """A call of one of our tools, complete. `input` was parsed when the block had closed, not before."""

    input: JSON
    """The arguments: a JSON object, or the text that was sent in their place if that was no JSON."""

    @property
    def id(self) -> str:
        """What its result has to name."""
        return _text(self.wire.get("call_id" if self.type in ITEM_CALLS else "id"))

    @property
    def name(self) -> str:
        """The name of the tool."""
        return _text(self.wire.get("name"))


class CustomToolUse(ToolUse, frozen=True):
    """A call whose `input` is free text by design."""


class ServerToolUse(Block, frozen=True):
    """A call that the provider makes itself; it is not ours to answer."""

    @property
    def name(self) -> str:
        return _text(self.wire.get("name"))


class WebSearch(Block, frozen=True):
    """A web search of the provider."""


class WebFetch(Block, frozen=True):
    """A page that the provider fetched."""


class FileSearch(Block, frozen=True):
    """A search of the provider in its files."""


class ExecutableCode(Block, frozen=True):
    """Code that the provider runs."""


class CodeExecution(Block, frozen=True):
    """What code gave that the provider ran."""


class ComputerCall(Block, frozen=True):
    """An action on a screen that the model asks for."""


class LocalShellCall(Block, frozen=True):
    """A shell command that the model asks for."""


class McpCall(Block, frozen=True):
    """A call of an MCP server by the provider, or what it gave."""


class McpListTools(Block, frozen=True):
    """The tools of an MCP server, as the provider saw them."""


class McpApprovalRequest(Block, frozen=True):
    """The provider asks whether it may call an MCP server."""


class ToolSearch(Block, frozen=True):
    """What a search for tools gave."""


class ContainerUpload(Block, frozen=True):
    """A file in the provider's container."""


class Other(Block, frozen=True):
    """A block of a type that this version does not know; it is kept, and goes back."""


AssistantBlock: TypeAlias = (
    Text
    | Thinking
    | RedactedThinking
    | Reasoning
    | ToolUse
    | CustomToolUse
    | ServerToolUse
    | WebSearch
    | WebFetch
    | FileSearch
    | ExecutableCode
    | CodeExecution
    | ComputerCall
    | LocalShellCall
    | McpCall
    | McpListTools
    | McpApprovalRequest
    | ToolSearch
    | ContainerUpload
    | Other
)
"""What a message of the model can carry."""


# ------------------------------------------------------------------- input only: no result becomes one


class Image(Block, frozen=True):
    """A picture for the model: `{"type": "image", "source": {…}}`."""


class Document(Block, frozen=True):
    """A document for the model: `{"type": "document", "source": {…}}`."""


class ToolResult(Block, frozen=True):
    """The answer to one `ToolUse`."""

    @property
    def tool_use_id(self) -> str:
        return _text(self.wire.get("tool_use_id"))

    @property
    def is_error(self) -> bool:
        return self.wire.get("is_error") is True


class OtherInput(Block, frozen=True):
    """Input of a type that this version does not know; it is sent as it was given."""


UserBlock: TypeAlias = Text | Image | Document | ToolResult | OtherInput
"""What a user message can carry."""

_USER_BLOCKS: dict[str, type[Text | Image | Document | ToolResult]] = {
    "text": Text,
    "image": Image,
    "document": Document,
    "tool_result": ToolResult,
}


def text(value: str) -> Text:
    """Return a block of text."""
    return Text(_object({"type": "text", "text": value}))


def image(data: str, media_type: str) -> Image:
    """Return a picture: base64 `data` of a media type such as `image/png`."""
    source = {"type": "base64", "media_type": media_type, "data": data}
    return Image(_object({"type": "image", "source": source}))


def tool_result(tool_use_id: str, content: list[JSON], *, is_error: bool = False) -> ToolResult:
    """Return the answer to a call; `content` are text and image blocks in their wire form."""
    wire: dict[str, JSON] = {"type": "tool_result", "tool_use_id": tool_use_id, "content": content}
    if is_error:
        wire["is_error"] = True
    return ToolResult(_object(wire))


def user_block(wire: JSON) -> UserBlock:
    """Return the block of a piece of a user message. Raises `ValueError` for what is no JSON object with a type."""
    kept = _object(wire)
    kind = kept.get("type")
    if not isinstance(kind, str):
        raise ValueError('a block is a JSON object with a "type"')  # noqa: TRY004 - see `_object`
    return _USER_BLOCKS.get(kind, OtherInput)(kept)


def _object(wire: JSON) -> dict[str, JSON]:
    kept = freeze(wire, root="block")
    if not isinstance(kept, FrozenDict):
        raise ValueError("a block is a JSON object")  # noqa: TRY004 - the value of a message, not a type of ours
    return kept


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else ""
