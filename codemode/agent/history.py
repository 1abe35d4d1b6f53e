"""The conversation that a session holds, derived from its events alone: what requests are built from.

    user/message        what a user said, or a context that came with the result of a call (`callId`)
    assistant/message   a complete turn of the model, as an envelope
    tool/result         the answer to one of that turn's calls, wherever it stands after it
    request/header      what requests hold beside the conversation
    context/pruned      from which turn on it is sent

Results go back in the order of the calls, before anything else, whatever order they ended in. Nothing here
appends events; reading the same events again gives the same conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from codemode.content import Text as TextContent
from codemode.content import content_from_json
from codemode.conversation import (
    AssistantTurn,
    Incomplete,
    Turn,
    UserBlock,
    UserTurn,
    image,
    read,
    text,
    tool_result,
)
from codemode.conversation.blocks import ToolUse, user_block
from codemode.errors import IncompleteStateError, PairingError
from codemode.session import Event
from codemode.values import JSON

__all__ = ["EVENT_TYPES", "History", "result_block"]

EVENT_TYPES = (
    "turn/start",
    "turn/end",
    "step/start",
    "user/message",
    "assistant/message",
    "tool/call",
    "tool/result",
    "request/header",
    "context/pruned",
)
"""What a history looks at."""


class _Answer:
    """A turn of the model, with the results that its calls have so far."""

    def __init__(self, turn: AssistantTurn, seq: int) -> None:
        self.turn = turn
        self.seq = seq
        self.ids = frozenset(call.id for call in turn.calls)
        self.results: dict[str, UserBlock] = {}
        self.contexts: dict[str, list[UserBlock]] = {}
        self.doubled: list[str] = []
        """What the log holds too much: second results, each with its event and its call."""

    def answers(self) -> Iterator[UserBlock]:
        """What follows it: results in the order of the calls, then the contexts of the calls, in that order too."""
        ids = [call.id for call in self.turn.calls]
        yield from (self.results[id] for id in ids if id in self.results)
        for id in ids:
            yield from self.contexts.get(id, ())


class _Unusable:
    """A stored turn of the model that cannot be taken up."""

    def __init__(self, missing: tuple[str, ...]) -> None:
        self.missing = missing


class _Said(NamedTuple):
    """What was said to the model, and by whom: `user`, or a `source` that speaks beside the user."""

    blocks: tuple[UserBlock, ...]
    source: str


_Entry: TypeAlias = "_Answer | _Unusable | _Said"


class History:
    """Takes events in order; `turns` is the conversation so far."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._entries: list[tuple[int, _Entry]] = []
        self._turn = -1
        self._made: set[JSON] = set()
        self.header: dict[str, JSON] | None = None
        """The last `request/header`."""
        self.last_step = -1
        """The number of the last step that began; steps are counted over the whole session."""
        for event in events:
            self.see(event)

    @property
    def last_turn(self) -> int:
        """The number of the last turn that began; -1 when none has."""
        return self._turn

    def see(self, event: Event) -> None:
        """Take note of one event. Never raises for an event that could be appended."""
        data: Any = event.data
        if event.type == "turn/start":
            self._turn = max(self._turn, data["turn"])
        elif event.type == "step/start":
            self.last_step = max(self.last_step, data["step"])
        elif event.type == "user/message":
            self._take_message(data["message"], event.seq)
        elif event.type == "assistant/message":
            found = read(data["message"])
            if isinstance(found, Incomplete):
                self._add(_Unusable(tuple(f"event {event.seq}: {each}" for each in found.missing)))
            elif found.content:
                self._made.clear()
                self._add(_Answer(found, event.seq))
        elif event.type == "tool/call":
            self._made.add(data["callId"])
        elif event.type == "tool/result":
            self._take_result(data, event.seq)
        elif event.type == "request/header":
            self.header = data["header"]
        elif event.type == "context/pruned":
            self._entries = [entry for entry in self._entries if entry[0] >= data["keptFrom"]]

    def turns(self) -> list[Turn]:
        """Return the conversation. Raises `IncompleteStateError` if a turn in it cannot be taken up, `PairingError`
        if a call has two results in the log."""
        return [turn for turn, _ in self._conversation()]

    def names(self) -> list[str]:
        """Return what errors call the turns: by their numbers, and those of the model also by their events, since
        turns in a log have other numbers. Raises as `turns` does."""
        return [
            f"turn {index}" if seq is None else f"turn {index} (event {seq})"
            for index, (_, seq) in enumerate(self._conversation())
        ]

    def _conversation(self) -> list[tuple[Turn, int | None]]:
        """The turns, those of the model with the numbers of their events."""
        turns: list[tuple[Turn, int | None]] = []
        said: list[UserBlock] = []

        def end_user_turn() -> None:
            if said:
                turns.append((UserTurn(tuple(said)), None))
                said.clear()

        for _, entry in self._entries:
            if isinstance(entry, _Unusable):
                raise IncompleteStateError(entry.missing)
            if isinstance(entry, _Answer):
                if entry.doubled:
                    raise PairingError(entry.doubled)
                end_user_turn()
                turns.append((entry.turn, entry.seq))
                said += entry.answers()
            else:
                said += entry.blocks
        end_user_turn()
        return turns

    def open_calls(self) -> list[tuple[ToolUse, bool]]:
        """Return the calls of the last turn of the model without a result, each with whether it was made."""
        last = self._last_answer()
        if last is None:
            return []
        return [(call, call.id in self._made) for call in last.turn.calls if call.id not in last.results]

    def turns_of_users(self) -> list[int]:
        """Return the numbers of the turns that still count and in which a user said something.

        Not of those that only go on with what was asked before, whatever else the model is told in them.
        """
        found = (n for n, entry in self._entries if isinstance(entry, _Said) and entry.source == "user")
        return list(dict.fromkeys(found))

    @property
    def is_paused(self) -> bool:
        """Whether the conversation ends in the middle of an answer, which the provider is to go on with."""
        last = self._entries[-1][1] if self._entries else None
        return isinstance(last, _Answer) and last.turn.stop == "pause" and not any(last.answers())

    def _add(self, entry: _Entry) -> None:
        self._entries.append((self._turn, entry))

    def _last_answer(self) -> _Answer | None:
        for _, entry in reversed(self._entries):
            if isinstance(entry, _Answer):
                return entry
            if isinstance(entry, _Unusable):
                break  # it may have been an answer, and what follows belong to it
        return None

    def _take_message(self, message: JSON, seq: int) -> None:
        said = _read_message(message, seq)
        last = self._last_answer()
        call_id: Any = message.get("callId") if isinstance(message, dict) else None
        of_a_call = last is not None and isinstance(call_id, str) and call_id in last.ids
        if last is not None and of_a_call and isinstance(said, _Said):
            last.contexts.setdefault(call_id, []).extend(said.blocks)
        else:
            self._add(said)

    def _take_result(self, data: Any, seq: int) -> None:
        last = self._last_answer()
        call_id = data["callId"]
        if last is None or call_id not in last.ids:
            return  # of a call that no model made
        if call_id in last.results:
            last.doubled.append(f"event {seq} is a second result for the call {call_id!r}")
        else:
            last.results[call_id] = result_block(data)


def result_block(data: Any) -> UserBlock:
    """Return the block that a `tool/result` goes back as; empty texts, which providers refuse, are left out."""
    content: list[JSON] = []
    for block in content_from_json(data["content"]):
        if not isinstance(block, TextContent):
            content.append(dict(image(block.data, block.media_type).wire))
        elif block.text:
            content.append({"type": "text", "text": block.text})
    return tool_result(data["callId"], content, is_error=data["isError"])


def _read_message(message: JSON, seq: int) -> _Said | _Unusable:
    fields = message if isinstance(message, dict) else {}
    content, source = fields.get("content"), fields.get("source")
    by = source if isinstance(source, str) else "user"
    if isinstance(content, str):
        return _Said((text(content),) if content else (), by)
    if not isinstance(content, list):
        return _Unusable((f"event {seq}: the content of what the user said",))
    try:
        return _Said(tuple(user_block(each) for each in content), by)
    except ValueError as error:
        return _Unusable((f"event {seq}: {error}",))
