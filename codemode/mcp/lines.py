"""JSON-RPC messages as lines of text, the way both ends of a pipe speak it: split, bounded, parsed.

`LineSplitter` and `request_id` are pure. A line that is too long, or that is no message, costs that message alone:
where it can be seen which request it answers, that request fails, and the conversation goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import anyio
import trio
from mcp.shared.message import SessionMessage
from mcp_types import (
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from msgspec import Struct

__all__ = ["MAX_MESSAGE_BYTES", "LineSplitter", "Overlong", "read_messages", "request_id", "write_messages"]

MAX_MESSAGE_BYTES = 32 * 1024 * 1024
"""Bytes of the largest message that is taken in: twice what a run may return, and far more than a model can read."""

_RECEIVE_BYTES = 64 * 1024
_SEEN_BYTES = 1024
"""Bytes at either end of an overlong line that are kept, to see which request it answers."""

_THREAD_BYTES = 256 * 1024
"""A longer line is parsed in a worker thread, so that the host's loop goes on."""

_ID_FIRST = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*[,}]')
_ID_LAST = re.compile(
    rb'[\]}"\dels]\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*'
    rb'(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$'
)


class Overlong(Struct, frozen=True):
    """A line that was longer than the bound: its size in bytes, its beginning and its end."""

    size: int
    head: bytes
    tail: bytes


class LineSplitter:
    """Bytes in, lines out, without their line ends. Holds at most one line, of at most `max_bytes`."""

    def __init__(self, max_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._max = max_bytes
        self._line = bytearray()
        self._head = b""  # of an overlong line
        self._size = 0

    def feed(self, data: bytes | bytearray) -> Iterator[bytes | Overlong]:
        """Take in some bytes; yield each line that they complete."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._add(data[start:end])
            yield self._take()
            start = end + 1
        self._add(data[start:])

    def _add(self, part: bytes | bytearray) -> None:
        self._size += len(part)
        self._line += part
        if self._size > self._max:
            if not self._head:
                self._head = bytes(self._line[:_SEEN_BYTES])
            del self._line[:-_SEEN_BYTES]

    def _take(self) -> bytes | Overlong:
        line: bytes | Overlong = bytes(self._line)
        if self._size > self._max:
            line = Overlong(self._size, self._head, bytes(self._line))
        self._line, self._head, self._size = bytearray(), b"", 0
        return line


def request_id(head: bytes, tail: bytes) -> int | None:
    """Return the id of the request that a line answers, seen from its beginning or its end alone.

    Only an id that stands where writers of JSON-RPC put it counts; None where that cannot be seen.
    """
    found = _ID_FIRST.search(head) or _ID_LAST.search(tail)
    return None if found is None else int(found.group(1))


async def read_messages(
    source: trio.abc.ReceiveStream,
    messages: anyio.abc.ObjectSendStream[SessionMessage | Exception],
    max_bytes: int = MAX_MESSAGE_BYTES,
    unwanted: frozenset[str] = frozenset(),
) -> None:
    """Carry messages from a byte stream into `messages`, which is closed at the end of the stream.

    Notifications whose method is `unwanted` are dropped.

    What is no message becomes the failure of the request that it answers, or an exception in the stream where
    that cannot be seen. Returns when either side is closed. Cancellation leaves nothing behind.
    """
    splitter = LineSplitter(max_bytes)
    async with messages:
        try:
            while data := await source.receive_some(_RECEIVE_BYTES):
                for line in splitter.feed(data):
                    if isinstance(line, Overlong) or line.strip():
                        item = await _parsed(line, max_bytes)
                        if unwanted and _method(item) in unwanted:
                            await trio.lowlevel.checkpoint()
                        else:
                            await messages.send(item)
                await trio.lowlevel.checkpoint()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return


async def _parsed(line: bytes | Overlong, max_bytes: int) -> SessionMessage | Exception:
    if isinstance(line, Overlong):
        problem = f"the answer has {line.size:,} bytes; the most that is taken in is {max_bytes:,}"
        return _unusable(problem, line.head, line.tail)
    try:
        if len(line) > _THREAD_BYTES:
            return SessionMessage(await trio.to_thread.run_sync(_parse, line, abandon_on_cancel=True))
        return SessionMessage(_parse(line))
    except ValueError as error:
        problem = f"the answer is no valid JSON-RPC message: {_first_line(error)}"
        return _unusable(problem, line[:_SEEN_BYTES], line[-_SEEN_BYTES:])


def _method(item: SessionMessage | Exception) -> str | None:
    """Return the method of a notification; None for anything else."""
    if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCNotification):
        return item.message.method
    return None


def _parse(line: bytes) -> JSONRPCMessage:
    return jsonrpc_message_adapter.validate_json(line, by_name=False)


def _first_line(error: ValueError) -> str:
    errors = getattr(error, "errors", None)
    if errors is not None:
        details = errors(include_url=False, include_context=False, include_input=False)
        return str(details[0]["msg"])[:200] if details else "it does not fit"
    return str(error).split("\n", 1)[0][:200]


def _unusable(problem: str, head: bytes, tail: bytes) -> SessionMessage | Exception:
    id_ = request_id(head, tail)
    if id_ is None:
        return ValueError(problem)
    return SessionMessage(
        JSONRPCError(jsonrpc="2.0", id=id_, error=ErrorData(code=PARSE_ERROR, message=problem))
    )


async def write_messages(
    messages: anyio.abc.ObjectReceiveStream[SessionMessage], target: trio.abc.SendStream
) -> None:
    """Carry messages into a byte stream, one line each. Returns when either side is closed.

    A cancellation in the middle of a line leaves the stream unusable.
    """
    async with messages:
        try:
            async for each in messages:
                text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                await target.send_all(text.encode() + b"\n")
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return
