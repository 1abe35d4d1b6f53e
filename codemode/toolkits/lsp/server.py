"""One language server: a process that is started, asked, and ended. It knows messages, not what they are about.

A task reads what the server says and a task writes what it is told, so that a caller who gives up in the middle
never tears a message. When the process ends, for whatever reason, everybody who waits for it is told.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trio

from codemode import ToolError
from codemode.toolkits.lsp.framing import Framing, FramingError, frame
from codemode.toolkits.lsp.languages import Language, environment

__all__ = ["Server", "ServerEnded"]

_ENDING_SECONDS = 2.0  # for a server that is asked to end
_RETRY_SECONDS = 0.2
_KEPT_ERRORS = 2000  # characters of what it wrote to its standard error last

# LSP 3.17, ErrorCodes: the server could not answer now, because it was busy with something newer.
_ASK_AGAIN = (-32800, -32801, -32802)
_METHOD_NOT_FOUND = -32601


class ServerEnded(Exception):
    """The process has ended, or says what is no message; the text says how."""


class Server:
    """A running server. `run` is its life; the rest can be used once `started` is set."""

    def __init__(self, language: Language, root: str) -> None:
        self.language = language
        self.started = trio.Event()
        self.ended: str | None = None
        """How it ended; None while it runs."""
        self.capabilities: dict[str, Any] = {}
        self.begun = 0  # pieces of background work that it has announced so far
        self._root = root
        self._folders = [{"uri": Path(root).as_uri(), "name": os.path.basename(root) or "/"}]
        self._ids = itertools.count(1)
        self._waiting: dict[int, _Answer] = {}
        self._outgoing, self._to_write = trio.open_memory_channel[dict[str, Any]](math.inf)
        self._working: set[Any] = set()  # tokens of background work under way
        self._work_changed = trio.lowlevel.ParkingLot()
        self._errors = bytearray()
        self._scope = trio.CancelScope()

    # ------------------------------------------------------------------------------------- its life

    async def run(self, options: dict[str, Any]) -> None:
        """Start the process, serve it until it ends or this is cancelled, and see to it that it is gone.

        `options` are joined to what it is initialised with.

        Raises nothing but cancellation; `ended` says how it ended.
        """
        try:
            with self._scope:
                await self._serve({**self._introduction(), **options})
        finally:
            self._has_ended("it was stopped")

    async def _serve(self, initialize: dict[str, Any]) -> None:
        try:
            process = await trio.lowlevel.open_process(
                list(self.language.command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._root,
                env=environment(self.language),
                start_new_session=True,  # so that it is ended with all its children
            )
        except OSError as error:
            self._has_ended(f"it cannot be started: {error.strerror or error}")
            return
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._write, process)
                nursery.start_soon(self._read_errors, process)
                nursery.start_soon(self._initialize, initialize)
                await self._read(process)
                nursery.cancel_scope.cancel()
        finally:
            with trio.CancelScope(shield=True):
                await self._end(process)

    def stop(self) -> None:
        """End it. No checkpoint."""
        self._scope.cancel()

    async def _end(self, process: trio.Process) -> None:
        """Ask it to end, then make it: it, and whatever it has started."""
        if process.returncode is None and process.stdin is not None and self.ended is None:
            with (
                trio.move_on_after(_ENDING_SECONDS),
                contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError),
            ):
                for message in ({"id": 0, "method": "shutdown"}, {"method": "exit"}):
                    await process.stdin.send_all(frame({"jsonrpc": "2.0", **message}))
                await process.wait()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                await stream.aclose()

    def _introduction(self) -> dict[str, Any]:
        return {
            "processId": os.getpid(),
            "clientInfo": {"name": "codemode"},
            "rootUri": self._folders[0]["uri"],
            "workspaceFolders": self._folders,
            "initializationOptions": dict(self.language.options),
        }

    async def _initialize(self, parameters: dict[str, Any]) -> None:
        try:
            answer = await self.request("initialize", parameters)
            capabilities = answer.get("capabilities") if isinstance(answer, dict) else None
            if not isinstance(capabilities, dict):
                raise ToolError("it did not say what it can do")
        except ServerEnded:
            return
        except ToolError as error:
            self._has_ended(f"it could not be initialised: {error}")
            self.stop()
            return
        self.capabilities = capabilities
        self.notify("initialized", {})
        self.notify("workspace/didChangeConfiguration", {"settings": dict(self.language.settings)})
        self.started.set()

    # ------------------------------------------------------------------------------------ talking

    async def request(self, method: str, parameters: Any) -> Any:
        """Ask, wait, and return the result; ask again when the server says that it was too busy.

        Raises `ServerEnded`, and `ToolError` LSP_REQUEST_FAILED with what the server said. Cancellation tells
        the server that nobody waits any more.
        """
        while True:
            answer = await self._ask(method, parameters)
            if answer.error is None:
                return answer.result
            if answer.error[0] not in _ASK_AGAIN:
                raise ToolError(
                    f"{self.language.name} could not answer {method}: {answer.error[1]}",
                    code="LSP_REQUEST_FAILED",
                )
            await trio.sleep(_RETRY_SECONDS)

    async def _ask(self, method: str, parameters: Any) -> _Answer:
        if self.ended is not None:
            raise ServerEnded(self.ended)
        id = next(self._ids)
        answer = self._waiting[id] = _Answer()
        self._send({"id": id, "method": method, "params": parameters})
        try:
            await answer.arrived.wait()
        except trio.Cancelled:
            self.notify("$/cancelRequest", {"id": id})
            raise
        finally:
            self._waiting.pop(id, None)
        if answer.is_lost:
            raise ServerEnded(self.ended or "it ended")
        return answer

    def notify(self, method: str, parameters: Any) -> None:
        """Tell the server something. No checkpoint; when it has ended, nothing happens."""
        self._send({"method": method, "params": parameters})

    def _send(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(trio.BrokenResourceError):
            self._outgoing.send_nowait({"jsonrpc": "2.0", **message})

    async def settled(self, begun: int, seconds: float) -> bool:
        """Wait until it does no background work (indexing) any more; return whether there was any.

        `begun` is what `begun` was when the caller asked; when nothing has begun since, it is waited for
        `seconds`. Raises `ServerEnded`.
        """
        with trio.move_on_after(seconds):
            while not self._working and self.begun == begun and self.ended is None:
                await self._work_changed.park()
        while self._working and self.ended is None:
            await self._work_changed.park()
        if self.ended is not None:
            raise ServerEnded(self.ended)
        return self.begun != begun

    @property
    def is_working(self) -> bool:
        """Whether it has announced background work that has not ended."""
        return bool(self._working)

    # -------------------------------------------------------------------------------------- its tasks

    async def _write(self, process: trio.Process) -> None:
        assert process.stdin is not None
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            async for message in self._to_write:
                await process.stdin.send_all(frame(message))

    async def _read(self, process: trio.Process) -> None:
        assert process.stdout is not None
        framing = Framing()
        try:
            async for data in process.stdout:
                for message in framing.feed(bytes(data)):
                    self._take(message)
            with trio.move_on_after(_ENDING_SECONDS):
                await process.wait()
            self._has_ended(f"its process ended{_with_code(process.returncode)}")
        except FramingError as error:
            self._has_ended(f"what it says cannot be understood: {error}")
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._has_ended("its process cannot be read from")

    async def _read_errors(self, process: trio.Process) -> None:
        assert process.stderr is not None
        async for data in process.stderr:
            self._errors += data
            del self._errors[:-_KEPT_ERRORS]

    def _has_ended(self, how: str) -> None:
        if self.ended is None:
            said = bytes(self._errors).decode("utf-8", "replace").strip()
            self.ended = f"{how}; it wrote: {said}" if said else how
        self._outgoing.close()
        for answer in self._waiting.values():
            answer.is_lost = True
            answer.arrived.set()
        self.started.set()
        self._work_changed.unpark_all()

    def _take(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if isinstance(method, str):
            if "id" in message:
                self._answer(message["id"], method, message.get("params"))
            elif method == "$/progress":
                self._note_progress(message.get("params"))
            return
        answer = self._waiting.get(message["id"]) if isinstance(message.get("id"), int) else None
        if answer is None:
            return  # nobody waits for it any more
        error = message.get("error")
        if isinstance(error, dict):
            answer.error = (error.get("code"), str(error.get("message"))[:1000])
        answer.result = message.get("result")
        answer.arrived.set()

    def _answer(self, id: Any, method: str, parameters: Any) -> None:
        """Answer what the server asks."""
        answers: dict[str, Callable[[], Any]] = {
            "workspace/configuration": lambda: [
                self._setting(item) for item in (parameters or {}).get("items", ())
            ],
            "workspace/workspaceFolders": lambda: self._folders,
            "client/registerCapability": lambda: None,
            "client/unregisterCapability": lambda: None,
            "window/workDoneProgress/create": lambda: None,
            "window/showMessageRequest": lambda: None,
        }
        make = answers.get(method)
        if make is None:
            self._send({"id": id, "error": {"code": _METHOD_NOT_FOUND, "message": f"{method} is not served"}})
            return
        try:
            self._send({"id": id, "result": make()})
        except (AttributeError, TypeError):
            self._send({"id": id, "error": {"code": -32602, "message": "invalid parameters"}})

    def _setting(self, item: Any) -> Any:
        value: Any = dict(self.language.settings)
        for part in str(item.get("section") or "").split("."):
            if part:
                value = value.get(part) if isinstance(value, dict) else None
        return value

    def _note_progress(self, parameters: Any) -> None:
        value = parameters.get("value") if isinstance(parameters, dict) else None
        kind = value.get("kind") if isinstance(value, dict) else None
        token = str(parameters.get("token")) if isinstance(parameters, dict) else ""
        if kind == "begin":
            self.begun += 1
            self._working.add(token)
        elif kind == "end":
            self._working.discard(token)
        self._work_changed.unpark_all()


class _Answer:
    """What one request waits for."""

    def __init__(self) -> None:
        self.arrived = trio.Event()
        self.result: Any = None
        self.error: tuple[Any, str] | None = None
        self.is_lost = False


def _with_code(code: int | None) -> str:
    if code is None or code == 0:
        return ""
    return f" with exit code {code}" if code > 0 else f" by signal {-code}"
