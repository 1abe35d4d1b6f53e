"""The stream of one answer of the Anthropic Messages API, as a state machine. No I/O.

    message_start        once, first; ping and events of unknown types may come anywhere, and change nothing
    content_block_start  once for each index; blocks may be interleaved
    content_block_delta  between the start and the stop of its block; one that cannot be applied ends the stream,
                         for a block without it would not be what was sent
    content_block_stop   once; only here the input of a call is parsed
    message_delta        any number; the last stop reason, and the last count of each kind of token
    message_stop         last, when every block has stopped and no index is missing: now there is a turn
    error                ends the stream

Anything else (a second start, a delta for no block, …) means that events were lost, repeated or mixed up, and
ends the stream: what came so far is dropped, and the request is to be sent again.
"""

from __future__ import annotations

import json
from typing import Any

from msgspec import UNSET, UnsetType

from codemode.conversation import results as r
from codemode.conversation.anthropic_wire import NAME, convert, stop_of
from codemode.conversation.streams import Piece, as_expected, frozen_object, joined, turn_of
from codemode.conversation.turns import AssistantTurn
from codemode.errors import IncompleteStateError, StreamError, TruncatedTurnError
from codemode.values import JSON, InvalidValue, freeze

__all__ = ["AnthropicStream"]

_TEXT_DELTAS = {"text_delta": "text", "thinking_delta": "thinking"}
"""Deltas that add text to a field of that name of their block."""

_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_THINKING = frozenset({"thinking", "redacted_thinking"})

_PERMANENT = frozenset(
    {"invalid_request_error", "authentication_error", "permission_error", "not_found_error", "request_too_large",
     "billing_error"}
)  # fmt: skip
"""Types of errors that the same request would meet again (API reference, errors)."""


class AnthropicStream:
    """See `streams.Stream`."""

    def __init__(self) -> None:
        self._message: dict[str, Any] | None = None
        self._blocks: dict[int, _Block] = {}
        self._is_complete = False
        self._failed: StreamError | None = None

    @property
    def is_complete(self) -> bool:
        return self._is_complete

    def feed(self, event: JSON) -> list[Piece]:
        if self._failed is not None:
            raise self._failed
        if self._is_complete:
            return []
        try:
            with as_expected(event):
                return self._take(event)
        except StreamError as error:
            self._failed = error
            raise

    def _take(self, event: Any) -> list[Piece]:
        match event["type"]:
            case "message_start":
                if self._message is not None:
                    raise StreamError("the stream began a second message inside the first")
                self._message = dict(event["message"])
            case "content_block_start":
                self._begin(event["index"], event["content_block"])
            case "content_block_delta":
                return self._open(event["index"]).add(event["delta"])
            case "content_block_stop":
                return self._open(event["index"]).close()
            case "message_delta":
                self._update(event)
            case "message_stop":
                self._finish()
            case "error":
                raise _error(event.get("error"))
            case _:
                pass
        return []

    def _begin(self, index: int, block: Any) -> None:
        if self._message is None:
            raise StreamError("a block came before the message had begun")
        if type(index) is not int or index < 0:
            raise StreamError(f"a block has the index {index!r}")
        if index in self._blocks:
            raise StreamError(f"block {index} began twice")
        self._blocks[index] = _Block(index, dict(block))

    def _open(self, index: int) -> _Block:
        block = self._blocks.get(index)
        if block is None or block.is_closed:
            raise StreamError(f"something came for block {index}, which is not open")
        return block

    def _update(self, event: Any) -> None:
        if self._message is None:
            raise StreamError("a change of the message came before it had begun")
        self._message.update(event["delta"])
        self._message.update({name: event[name] for name in event if name not in ("type", "delta", "usage")})
        counts = {name: count for name, count in (event.get("usage") or {}).items() if count is not None}
        self._message["usage"] = {**(self._message.get("usage") or {}), **counts}

    def _finish(self) -> None:
        if self._message is None:
            raise StreamError("the message ended before it had begun")
        for index, block in self._blocks.items():
            if not block.is_closed:
                raise StreamError(f"the message ended while block {index} was open")
        if sorted(self._blocks) != list(range(len(self._blocks))):
            raise StreamError(f"the message ended with blocks {sorted(self._blocks)}: one is missing")
        if self._message.get("stop_reason") is None:
            raise StreamError("the message ended without a reason for stopping")
        if not self._is_cut():
            for block in self._blocks.values():
                if block.problem is not None or self._is_refused(block):
                    raise self._spoiled(block)
        frozen_object({name: value for name, value in self._message.items() if name != "content"}, "message")
        self._is_complete = True

    def _is_refused(self, block: _Block) -> bool:
        """Whether a refusal came before the result of a call that the provider makes itself."""
        assert self._message is not None
        is_last = block.index == len(self._blocks) - 1
        is_theirs = block.kind in _CALLS and block.kind != "tool_use"
        return is_last and is_theirs and stop_of(self._message["stop_reason"]) == "refusal"

    def _spoiled(self, block: _Block) -> StreamError:
        assert self._message is not None
        if stop_of(self._message["stop_reason"]) == "refusal":  # it would refuse again
            words = f"the model refused inside the call of {block.name!r}; nothing was called or kept"
            return StreamError(words, retryable=False)
        return StreamError(block.problem or "")

    def _is_cut(self) -> bool:
        """Whether the bound of tokens was reached inside a block that has to be whole to go back, or after
        thinking that nothing follows, with which no turn may end."""
        assert self._message is not None
        if stop_of(self._message["stop_reason"]) not in ("max-tokens", "context-full") or not self._blocks:
            return False
        last = self._blocks[len(self._blocks) - 1]
        return last.kind in _CALLS or last.kind in _THINKING or last.problem is not None

    def turn(self) -> AssistantTurn:
        with as_expected(self._message):
            return self._whole()

    def _whole(self) -> AssistantTurn:
        if self._failed is not None:
            raise self._failed
        if not self._is_complete or self._message is None:
            raise StreamError("the stream ended before the message was complete; what had come is dropped")
        if self._is_cut():
            last = self._blocks[len(self._blocks) - 1]
            what = "thinking" if last.kind in _THINKING else f"the call of {last.name!r}"
            raise TruncatedTurnError(
                f"the answer reached its bound of tokens inside {what}; nothing was called or kept. Allow more "
                "tokens for an answer (max_tokens), or ask for less at a time"
            )
        blocks = [self._blocks[index] for index in range(len(self._blocks))]
        unknown = [f"content[{each.index}] {each.unapplied}" for each in blocks if each.unapplied]
        if unknown:
            raise IncompleteStateError(unknown)
        results: list[r.Result] = [convert(block.wire()) for block in blocks]
        envelope = {name: value for name, value in self._message.items() if name != "content"}
        kept = frozen_object(envelope, "message")
        if "usage" in kept:
            results.append(r.UsageResult({"usage": kept["usage"]}))
        results.append(r.StopResult({"stop_reason": kept["stop_reason"]}))
        return turn_of(NAME, results, stop_of(kept["stop_reason"]), kept)


class _Block:
    """One block as it comes: its start, the text of its deltas, and, once closed, the whole."""

    def __init__(self, index: int, start: dict[str, Any]) -> None:
        self.index = index
        self.kind = start["type"]
        self.name = start.get("name")
        self.is_closed = False
        self.problem: str | None = None  # the input of a call was no JSON object
        self.unapplied = ""  # a delta that this version does not know
        self._start = start
        self._texts: dict[str, list[str]] = {}
        self._citations: list[Any] = []
        self._json: list[str] = []
        self._input: JSON | UnsetType = UNSET
        self._wire: dict[str, JSON] | None = None

    def add(self, delta: Any) -> list[Piece]:
        kind = delta["type"]
        if kind in _TEXT_DELTAS:
            field = _TEXT_DELTAS[kind]
            self._texts.setdefault(field, []).append(_str(delta[field]))
            return [Piece("text" if field == "text" else "thinking", delta[field])]
        if kind == "input_json_delta":
            self._json.append(_str(delta["partial_json"]))
        elif kind == "signature_delta":  # whole, in one delta, as the SDK takes it
            self._start["signature"] = _str(delta["signature"])
        elif kind == "citations_delta":
            self._citations.append(delta["citation"])
        else:
            self.unapplied = f"({self.kind}): what its {kind!r} says, which this version cannot apply"
        return []

    def close(self) -> list[Piece]:
        self.is_closed = True
        if self._json:
            self._parse(joined(self._json))
        elif self.kind == "tool_use" and not isinstance(self._start.get("input", {}), dict):
            self.problem = self._no_object()
        self.wire()
        return [Piece("call", str(self.name))] if self.kind == "tool_use" and self.problem is None else []

    def _parse(self, text: str) -> None:
        try:
            value = freeze(json.loads(text)) if text.strip() else freeze({})
        except (ValueError, InvalidValue, RecursionError):
            value = None
        if isinstance(value, dict):
            self._input = value
        else:
            self.problem = self._no_object()

    def _no_object(self) -> str:
        return f"the input of the call of {self.name!r} is no JSON object when its block has ended"

    def wire(self) -> dict[str, JSON]:
        """Return the block, complete and frozen."""
        if self._wire is None:
            whole = dict(self._start)
            for field, pieces in self._texts.items():
                whole[field] = joined([_str(whole.get(field) or ""), *pieces])
            if self._citations:
                whole["citations"] = [*(whole.get("citations") or []), *self._citations]
            if self._input is not UNSET:
                whole["input"] = self._input
            self._wire = frozen_object(whole, f"block {self.index}")
        return self._wire


def _str(value: object) -> str:
    if not isinstance(value, str):
        raise StreamError(f"a delta holds {type(value).__name__} in place of text")
    return value


def _error(error: Any) -> StreamError:
    kind = error.get("type") if isinstance(error, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return StreamError(
        f"the provider reports {kind or 'an error'}: {message}", retryable=kind not in _PERMANENT
    )
