"""The conversation with a model as typed blocks: kept whole, paired, streamed, stored, sent again. No I/O.

results, blocks, content    three lists in step: what converters produce, what messages carry, the way between
turns, envelopes            a complete answer, sealed; how it is stored and taken up again
streams, *_stream, sse      events in, a complete turn out, or nothing
pairing, requests, pruning  what has to hold before anything is sent
*_wire                      the formats of the providers
display                     what a person sees; nothing is rebuilt from it
"""

from codemode.conversation.blocks import AssistantBlock, Block, ToolUse, UserBlock, image, text, tool_result
from codemode.conversation.display import shown, text_of
from codemode.conversation.envelopes import Incomplete, read, require, to_message
from codemode.conversation.pairing import check_pairing, close_calls, open_calls, pairing_violations
from codemode.conversation.pruning import exchanges, prune
from codemode.conversation.requests import Request, build_request
from codemode.conversation.turns import AssistantTurn, Turn, UserTurn

__all__ = [
    "AssistantBlock",
    "AssistantTurn",
    "Block",
    "Incomplete",
    "Request",
    "ToolUse",
    "Turn",
    "UserBlock",
    "UserTurn",
    "build_request",
    "check_pairing",
    "close_calls",
    "exchanges",
    "image",
    "open_calls",
    "pairing_violations",
    "prune",
    "read",
    "require",
    "shown",
    "text",
    "text_of",
    "to_message",
    "tool_result",
]
