"""What host and guest say to each other in one run: bytes in, calls and logs out, until there is an end. No I/O.

This is the host's side of the protocol and its distrust. A guest may send, in any order, `Call` with ids that count
1, 2, 3 ..., one `Cancel` for a call, `Log`, and then once `Done` or `Failed`. Everything else ends the run, and
nothing that comes after the end is looked at. Sizes and numbers are measured here again, whatever the guest
measured; text is never formatted, and values are checked before anyone sees them.

A large frame is not decoded here: the conversation then stands still, with the bytes in `heavy`, until `resume`
brings what became of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator

from msgspec import UNSET, Raw, UnsetType

from codemode import wire
from codemode.rendering import cut_middle, encodable
from codemode.sandbox import ending
from codemode.sandbox.bulk import Decoded
from codemode.sandbox.ending import Ending
from codemode.sandbox.interface import RunHandler
from codemode.sandbox.limits import Limits
from codemode.sandbox.outcome import RunErrorKind
from codemode.values import JSON, FrozenDict
from codemode.wire import WireError

__all__ = ["Conversation"]

_FRAMES_PER_ROUND = 16
"""Frames handled in one go; then others get their turn."""

_OVERHEAD_BYTES = 64 * 1024
"""What a frame may have beyond the largest value in it."""

_HEAVY_BYTES = 64 * 1024
"""A frame of more than this is decoded by whoever carries the bytes, away from the loop."""

# What a guest can know about its own end; every other kind is for the host to say.
_CLAIMS: dict[str, RunErrorKind] = {
    "exception": "exception",
    "memory-limit": "memory-limit",
    "output-limit": "output-limit",
    "invalid-output": "invalid-output",
}


class Conversation:
    """One run's protocol.

    `send` takes the bytes of a frame for the guest and must not block. `stop_clock` is called with True when the run's
    wall time is to stand still, and with False when it goes on. `over` is set once, by the guest's own end
    or by `stop`; `ending` is then why, or None when the run ended well. `crowded` says that the calls in flight
    hold all the arguments that they may; the carrier then reads no more until `relieved` has been called.
    """

    def __init__(
        self,
        tools: Iterable[str],
        limits: Limits,
        handler: RunHandler,
        send: Callable[[bytes], None],
        relieved: Callable[[], object],
        stop_clock: Callable[[bool], None],
    ) -> None:
        self._tools = frozenset(tools)
        self._limits = limits
        self._handler = handler
        self._send = send
        self._relieved = relieved
        self._stop_clock = stop_clock
        self._holds = 0
        self._reader = wire.FrameReader(
            max(limits.result_bytes, limits.log_bytes, limits.error_bytes) + _OVERHEAD_BYTES
        )
        self._open: dict[int, int] = {}  # the calls in flight: id, bytes of their arguments
        self._cancelled: set[int] = set()
        self._held = 0
        self.heavy: bytes | None = None
        self._lines: list[str] = []
        self._line: list[str] = []  # the pieces of the unfinished one
        self._log_room = limits.log_bytes
        self.calls = 0
        self.frames = 0
        self.over = False
        self.ending: Ending | None = None
        self.result: JSON | UnsetType = UNSET

    @property
    def logs(self) -> tuple[str, ...]:
        """The lines printed so far, the unfinished one included."""
        last = "".join(self._line)
        return (*self._lines, last) if last else tuple(self._lines)

    def receive(self, data: bytes) -> bool:
        """Take in bytes from the guest and handle some of the frames that are complete.

        Returns whether there may be more to handle; call it again then, with no bytes, and after `resume` if
        there is something in `heavy`.
        """
        if self.over or self.heavy is not None:
            return False
        handled = 0
        try:
            for body in self._reader.feed(data):
                handled += 1
                if len(body) > _HEAVY_BYTES:
                    self.heavy = body
                    break
                self._handle(wire.from_guest(body))
                if self.over or handled == _FRAMES_PER_ROUND:
                    break
        except WireError as error:
            self.stop(ending.protocol(str(error)))
        self.frames += handled
        return not self.over and (handled == _FRAMES_PER_ROUND or self.heavy is not None)

    @property
    def crowded(self) -> bool:
        """Whether no more calls are to be read for now."""
        return self._held > self._limits.result_bytes

    def resume(self, decoded: Decoded | Ending) -> None:
        """Go on with what `heavy` was, or end the run because it could not be decoded."""
        self.heavy = None
        if isinstance(decoded, Ending):
            self.stop(decoded)
        elif not self.over:
            try:
                self._handle(decoded.frame, decoded.value, decoded.length)
            except WireError as error:
                self.stop(ending.protocol(str(error)))

    def stop(self, why: Ending) -> None:
        """End the run for this reason, unless it has ended already."""
        if not self.over:
            self._finish(why)

    def last_words(self, data: bytes) -> bool:
        """Keep what the guest had printed before it was stopped; everything else that it says is ignored.

        Returns whether there may be more to handle; call it again then, with no bytes.
        """
        handled = 0
        try:
            for body in self._reader.feed(data):
                frame = wire.from_guest(body)
                if isinstance(frame, wire.Log) and self._log_room > 0:
                    self._log(frame.text)
                handled += 1
                if handled == _FRAMES_PER_ROUND:
                    return True
        except WireError:
            pass  # it is over, whatever this was
        return False

    # ------------------------------------------------------------------------------- frames

    def _handle(self, frame: wire.FromGuest, value: JSON | UnsetType = UNSET, length: int = 0) -> None:
        """Act on one frame. `value` is the value in it, and `length` its bytes, if that has been taken out already."""
        if isinstance(frame, wire.Call):
            self._call(frame, value, length)
        elif isinstance(frame, wire.Log):
            self._log(frame.text)
        elif isinstance(frame, wire.Cancel):
            self._cancel(frame.id)
        elif isinstance(frame, wire.Done):
            self._done(frame.value, value, length)
        else:
            self._failed(frame)

    def _call(self, frame: wire.Call, arguments: JSON | UnsetType, length: int) -> None:
        if frame.id != self.calls + 1:
            raise WireError(f"call {frame.id} where call {self.calls + 1} was due")
        if self.calls == self._limits.max_calls:
            self.stop(ending.out_of_calls(self._limits))
            return
        if len(self._open) == self._limits.max_calls_in_flight:
            self.stop(ending.out_of_calls_in_flight(self._limits))
            return
        self.calls += 1
        known = frame.name in self._tools
        length = length or len(memoryview(frame.arguments))
        if length > self._limits.result_bytes:
            tool = frame.name if known else "an unknown tool"
            self.stop(ending.arguments_too_large(tool, length, self._limits))
            return
        if arguments is UNSET:
            arguments = wire.decode_untrusted(frame.arguments)
        if type(arguments) is not FrozenDict:
            raise WireError("the arguments of a call are no object")
        call = _Call(self, frame.id, frame.name, arguments)
        self._open[frame.id] = length
        self._held += length
        if known:
            self._handler.call(call)
        else:
            call.fail("there is no tool of that name in this run", "UNKNOWN_TOOL")

    def _cancel(self, id: int) -> None:
        if not 0 < id <= self.calls:
            raise WireError(f"cancelled call {id}, which was never made")
        if id in self._cancelled:
            raise WireError(f"cancelled call {id} twice")
        self._cancelled.add(id)
        # An answer may have crossed the cancellation on its way; then nothing is left to cancel.
        if self._close_call(id):
            self._handler.cancel(id)

    def _log(self, text: str) -> None:
        length = len(text) if text.isascii() else len(text.encode())
        fits = length <= self._log_room
        if not fits:
            text = text.encode()[: self._log_room].decode(errors="ignore")
        self._log_room -= max(length, 1)  # so that empty ones come to an end too
        if text:
            self._keep(text)
            self._handler.log(text)
        if not fits:
            self.stop(ending.printed_too_much(self._limits))

    def _keep(self, text: str) -> None:
        """Cut what was printed into lines at once: whole and in pieces it would be held twice."""
        first, *others = text.split("\n")
        self._line.append(first)
        if others:
            self._lines.append("".join(self._line))
            self._line = [others.pop()]
            self._lines += others

    def _done(self, raw: Raw | UnsetType, result: JSON | UnsetType, length: int) -> None:
        if raw is not UNSET:
            length = length or len(memoryview(raw))
            if length > self._limits.result_bytes:
                self.stop(ending.result_too_large(length, self._limits))
                return
            if result is UNSET:
                result = wire.decode_untrusted(raw)
        self.result = result
        self._finish(None)

    def _failed(self, frame: wire.Failed) -> None:
        kind = _CLAIMS.get(frame.kind)
        if kind is None:
            raise WireError("an end that a guest cannot know of")
        if kind == "memory-limit":  # the guest knows that, but not how much it may have
            self._finish(ending.out_of_memory(self._limits))
            return
        self._finish(Ending(kind, cut_middle(frame.message, self._limits.error_bytes)))

    def _finish(self, why: Ending | None) -> None:
        self.over = True
        self.ending = why
        self.heavy = None
        self._open.clear()
        self._held = 0

    # ------------------------------------------------------------------------------- answers

    def reply(self, id: int, frame: Callable[[], wire.Value | wire.Fault]) -> None:
        """Send the answer to a call, if it still waits for one. An answer that cannot be encoded changes nothing."""
        if id in self._open:
            data = wire.pack(frame())
            self._close_call(id)
            self._send(data)

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Stop the clock for as long as this is entered, by one or by several at once."""
        self._holds += 1
        if self._holds == 1:
            self._stop_clock(True)
        try:
            yield
        finally:
            self._holds -= 1
            if not self._holds:
                self._stop_clock(False)

    def _close_call(self, id: int) -> bool:
        """Strike a call off those in flight. Returns whether it was one of them."""
        length = self._open.pop(id, None)
        if length is None:
            return False
        was_crowded = self.crowded
        self._held -= length
        if was_crowded and not self.crowded:
            self._relieved()
        return True


class _Call:
    """A call that the program made; see `interface.CallRequest`."""

    __slots__ = ("_conversation", "arguments", "id", "name")

    def __init__(self, conversation: Conversation, id: int, name: str, arguments: dict[str, JSON]) -> None:
        self._conversation = conversation
        self.id = id
        self.name = name
        self.arguments = arguments

    def answer(self, value: JSON) -> None:
        """Give the program a value that `values.check` accepts."""
        self._conversation.reply(self.id, lambda: wire.Value(self.id, Raw(wire.encode_value(value))))

    def hold(self) -> contextlib.AbstractContextManager[None]:
        return self._conversation.hold()

    def fail(self, message: str, code: str | None = None, type: str | None = None) -> None:
        """Raise at the program's call. Text that is no Unicode is sent with its bad characters replaced."""
        self._conversation.reply(
            self.id,
            lambda: wire.Fault(
                self.id, encodable(message), code and encodable(code), type and encodable(type)
            ),
        )
