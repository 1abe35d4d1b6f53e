"""What a person sees of blocks: a view that reads and never writes. Nothing is ever rebuilt from it."""

from __future__ import annotations

import json
from typing import assert_never

from codemode.conversation import blocks as b
from codemode.conversation.turns import AssistantTurn

__all__ = ["shown", "text_of"]


def text_of(turn: AssistantTurn) -> str:
    """Return the text that the model wrote, and nothing else."""
    return "".join(block.text for block in turn.content if isinstance(block, b.Text))


def shown(block: b.AssistantBlock) -> str:
    """Return a block as a person may read it; opaque ones by their name and size only."""
    match block:
        case b.Text():
            return block.text
        case b.Thinking():
            return block.thinking or "[thinking, not shown]"
        case b.RedactedThinking():
            return f"[encrypted thinking, {len(block.data)} characters]"
        case b.Reasoning():
            return block.summary or "[reasoning, not shown]"
        case b.CustomToolUse() | b.ToolUse():
            return f"[call of {block.name} {json.dumps(block.input, ensure_ascii=False)}]"
        case b.ServerToolUse():
            return f"[the provider calls {block.name}]"
        case (
            b.WebSearch()
            | b.WebFetch()
            | b.FileSearch()
            | b.ExecutableCode()
            | b.CodeExecution()
            | b.ComputerCall()
            | b.LocalShellCall()
            | b.McpCall()
            | b.McpListTools()
            | b.McpApprovalRequest()
            | b.ToolSearch()
            | b.ContainerUpload()
            | b.Other()
        ):
            return f"[{block.type or 'block of no type'}]"
        case _:
            assert_never(block)
