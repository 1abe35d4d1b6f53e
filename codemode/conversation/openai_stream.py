"""The stream of one answer of the OpenAI Responses API, as a state machine. No I/O.

An item counts when its `response.output_item.done` has come, whole; deltas are for display only. The turn
exists at `response.completed` (or `response.incomplete`, which says why), when every item that the response
lists has come. Events are numbered: one that comes again, or late, is passed over. Unknown events change nothing.
"""

from __future__ import annotations

from typing import Any

from codemode.conversation import results as r
from codemode.conversation.openai_wire import NAME, convert
from codemode.conversation.streams import Piece, as_expected, frozen_object, turn_of
from codemode.conversation.turns import AssistantTurn, Stop
from codemode.errors import IncompleteStateError, StreamError, TruncatedTurnError
from codemode.values import JSON

__all__ = ["OpenAIStream"]

_SHOWN = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
}
_TEMPORARY = frozenset({"server_error", "rate_limit_exceeded", "server_is_overloaded", "slow_down"})
_CALLS = ("function_call", "custom_tool_call")


class OpenAIStream:
    """See `streams.Stream`."""

    def __init__(self) -> None:
        self._begun: set[int] = set()
        self._items: dict[int, dict[str, JSON]] = {}
        self._seen: set[int] = set()
        self._response: dict[str, JSON] | None = None
        self._failed: StreamError | None = None

    @property
    def is_complete(self) -> bool:
        return self._response is not None

    def feed(self, event: JSON) -> list[Piece]:
        if self._failed is not None:
            raise self._failed
        if self._response is not None:
            return []
        try:
            with as_expected(event):
                return self._take(event)
        except StreamError as error:
            self._failed = error
            raise

    def _take(self, event: Any) -> list[Piece]:
        number = event.get("sequence_number")
        if isinstance(number, int):
            if number in self._seen:
                return []
            self._seen.add(number)
        kind = event["type"]
        if kind in _SHOWN:
            return [Piece("text" if _SHOWN[kind] == "text" else "thinking", str(event["delta"]))]
        if kind == "response.output_item.added":
            self._begun.add(event["output_index"])
        if kind == "response.output_item.done":
            return self._item(event["output_index"], frozen_object(event["item"], "item"))
        if kind in ("response.completed", "response.incomplete"):
            self._finish(frozen_object(event["response"], "response"))
        elif kind == "response.failed":
            raise _error(event["response"].get("error"))
        elif kind == "error":
            raise _error(event.get("error") or event)
        return []

    def _item(self, index: int, item: dict[str, JSON]) -> list[Piece]:
        if type(index) is not int or index < 0:
            raise StreamError(f"an item has the index {index!r}")
        if index in self._items:
            if self._items[index] == item:
                return []
            raise StreamError(f"item {index} came twice, and not the same")
        self._items[index] = item
        return [Piece("call", str(item.get("name")))] if item["type"] in _CALLS else []

    def _finish(self, response: dict[str, JSON]) -> None:
        if sorted(self._items) != list(range(len(self._items))):
            raise StreamError(f"the response ended with items {sorted(self._items)}: one is missing")
        lost = sorted(self._begun - self._items.keys())
        if lost:
            raise StreamError(f"the response ended without the end of the items {lost}, which had begun")
        listed = response.get("output") or []
        if listed and [_key(item) for item in listed] != [
            _key(self._items[at]) for at in sorted(self._items)
        ]:
            raise StreamError("the response lists other items than had come")
        self._response = response

    def turn(self) -> AssistantTurn:
        with as_expected(self._response):
            return self._whole()

    def _whole(self) -> AssistantTurn:
        if self._failed is not None:
            raise self._failed
        if self._response is None:
            raise StreamError("the stream ended before the response was complete; what had come is dropped")
        items = [self._items[index] for index in range(len(self._items))]
        stop = self._stop(items)
        unfinished = [item for item in items if item.get("status") in ("incomplete", "in_progress")]
        cut = [item for item in unfinished if item.get("type") != "message"]
        ends_open = bool(items) and items[-1].get("type") in (*_CALLS, "reasoning")
        if stop == "max-tokens" and (cut or ends_open):  # with reasoning that nothing follows no turn may end
            raise TruncatedTurnError(
                f"the answer reached its bound of tokens inside a {(cut or items)[-1].get('type')}; nothing was "
                "called or kept. Allow more tokens for an answer (max_tokens), or ask for less at a time"
            )
        if cut:
            raise IncompleteStateError([f"the end of {item.get('type')} {item.get('id')}" for item in cut])
        results: list[r.Result] = [convert(item) for item in items]
        envelope = frozen_object({k: v for k, v in self._response.items() if k != "output"}, "response")
        if envelope.get("usage") is not None:
            results.append(r.UsageResult({"usage": envelope["usage"]}))
        results.append(r.StopResult({"status": envelope.get("status")}))
        return turn_of(NAME, results, stop, envelope)

    def _stop(self, items: list[dict[str, JSON]]) -> Stop:
        assert self._response is not None
        if self._response.get("status") == "incomplete":
            details: Any = self._response.get("incomplete_details") or {}
            reason = details.get("reason")
            if reason == "max_output_tokens":
                return "max-tokens"
            return "refusal" if reason == "content_filter" else "other"
        return "tool-calls" if any(item.get("type") in _CALLS for item in items) else "end"


def _key(item: Any) -> tuple[JSON, JSON]:
    return item.get("type"), item.get("id") or item.get("call_id")


def _error(error: Any) -> StreamError:
    code = error.get("code") or error.get("type") if isinstance(error, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return StreamError(
        f"the provider reports {code or 'an error'}: {message}", retryable=code in (*_TEMPORARY, None)
    )
