"""The servers of one workspace: which run, what they know of its files, and a question put to one of them.

A server is started with the first question for its language. Before each question it is told what has changed on
disk since the last one, so that its answers are about the files as they are. One that ends is started again
with the next question, unless it has ended too often.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import trio

from codemode import ToolError
from codemode.toolkits.filesystem.texts import decode
from codemode.toolkits.filesystem.walking import Deadline, walk
from codemode.toolkits.filesystem.workspace import Workspace
from codemode.toolkits.lsp.languages import Language, language_of
from codemode.toolkits.lsp.server import Server, ServerEnded

__all__ = ["Client"]

MAX_DOCUMENT_BYTES = 10 * 1024 * 1024
MAX_OPEN_DOCUMENTS = 50
MAX_ENDS = 5
"""How often a server may end by itself within `ENDS_SECONDS` before it is not started again for a while."""
ENDS_SECONDS = 300.0

_SCAN_SECONDS = 10.0
_MAX_WATCHED_FILES = 100_000
_FIRST_WORK_SECONDS = 1.0  # for a new server to say that it has begun to index
_MAX_QUESTIONS = 5  # a server may announce work for each question itself
_RESTLESS_SECONDS = 5.0
"""How long after a change an answer counts only when it is given twice, `_RESTLESS_PAUSE` apart."""
_RESTLESS_PAUSE = 0.6
_CREATED, _CHANGED, _DELETED = 1, 2, 3  # LSP 3.17, FileChangeType


class Client:
    """Asks the servers of one workspace. Its servers live while it is entered; a question may take `seconds`."""

    def __init__(self, workspace: Workspace, languages: Sequence[Language], seconds: float) -> None:
        self.workspace = workspace
        self.root_uri = Path(workspace.root).as_uri()
        self._languages = tuple(languages)
        self._seconds = seconds
        self._sessions: dict[str, _Session] = {}
        self._nursery: trio.Nursery | None = None

    async def __aenter__(self) -> Self:
        if self._nursery is not None:
            raise ToolError(
                "these tools are in use by another engine; each engine needs tools of its own", code="IN_USE"
            )
        self._manager = trio.open_nursery()
        self._nursery = await self._manager.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all servers, and wait until they are gone, which is bounded."""
        nursery, self._nursery = self._nursery, None
        assert nursery is not None
        self._sessions = {}
        nursery.cancel_scope.cancel()
        nursery.cancel_scope.shield = True
        await self._manager.__aexit__(None, None, None)

    async def ask(
        self, path: str, line: int, character: int, method: str, capability: str, extra: Any
    ) -> Any:
        """Ask about a place in a file (counted from 1, in characters) and return the server's own answer.

        Raises `ToolError` with an FS_ or LSP_ code. Cancellation leaves the server running.
        """
        self._check_open()
        language = language_of(path, self._languages)
        if language is None:
            endings = sorted({ending for each in self._languages for ending in each.files})
            known = f"there is one for {', '.join(endings)}" if endings else "there is none at all"
            raise ToolError(f'no language server is for "{path}"; {known}', code="LSP_UNAVAILABLE")
        session = self._sessions.setdefault(language.name, _Session(self, language))
        is_asked = False
        with trio.move_on_after(self._seconds):
            async with session.turn:
                document = await trio.to_thread.run_sync(
                    self._read, path, line, character, abandon_on_cancel=True
                )
                is_asked = True
                return await self._ask_twice(session, document, method, capability, extra)
        if is_asked:  # and not only waited behind other questions
            session.note_silence()
        raise ToolError(
            f"{language.name} did not answer within {self._seconds:g} s; it may still be reading the workspace: "
            "ask again later",
            code="LSP_TIMEOUT",
        )

    async def _ask_twice(
        self, session: _Session, document: _Document, method: str, capability: str, extra: Any
    ) -> Any:
        """Ask, and once more if the server ends over it."""
        try:
            try:
                return await session.ask(document, method, capability, extra)
            except ServerEnded:
                self._check_open()
                session.note_end()
                return await session.ask(document, method, capability, extra)
        except ServerEnded as error:
            self._check_open()
            session.note_end()
            raise ToolError(
                f"{session.language.name} cannot be used: {error}", code="LSP_UNAVAILABLE"
            ) from None

    def _check_open(self) -> None:
        if self._nursery is None:
            raise ToolError("the language servers have been shut down", code="LSP_DISPOSED")

    def start(self, session: _Session) -> Server:
        """Start a server in the client's nursery and return it."""
        server = Server(session.language, self.workspace.root)
        assert self._nursery is not None  # looked at when the question came
        self._nursery.start_soon(server.run, {"capabilities": _CAPABILITIES})
        return server

    def _read(self, path: str, line: int, character: int) -> _Document:
        doing = "cannot look into"
        with self.workspace.open(path, doing=doing) as (found, file):
            data = file.read(MAX_DOCUMENT_BYTES + 1)
        if len(data) > MAX_DOCUMENT_BYTES:
            raise ToolError(
                f'{doing} "{path}": it is larger than {MAX_DOCUMENT_BYTES // 2**20} MiB', code="FS_TOO_LARGE"
            )
        text = decode(data, path, doing)
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if line > len(lines):
            raise ToolError(
                f'line {line} is out of range for "{path}" ({len(lines)} lines)', code="LSP_OUT_OF_RANGE"
            )
        before = lines[line - 1][: character - 1]
        if len(before) < character - 1:
            length = len(lines[line - 1])
            raise ToolError(
                f'character {character} is out of range for line {line} of "{path}" ({length} characters)',
                code="LSP_OUT_OF_RANGE",
            )
        # The protocol counts UTF-16 code units; a model counts characters.
        units = len(before.encode("utf-16-le", "surrogatepass")) // 2
        uri = Path(self.workspace.root, found).as_uri()
        return _Document(
            uri, os.path.splitext(found)[1].lower(), text, {"line": line - 1, "character": units}
        )

    def scan(self, endings: frozenset[str]) -> dict[str, int]:
        """Return the files with these endings, with when they were changed. In a worker thread."""
        found: dict[str, int] = {}
        for file in walk(self.workspace, (), Deadline(_SCAN_SECONDS), include_ignored=False):
            if os.path.splitext(file.path)[1].lower() in endings:
                found[file.path] = file.modified
                if len(found) == _MAX_WATCHED_FILES:
                    break
        return found


class _Document:
    """A file that a question is about, as it is on disk, and the place in it."""

    def __init__(self, uri: str, ending: str, text: str, position: dict[str, int]) -> None:
        self.uri = uri
        self.ending = ending
        self.text = text
        self.position = position


class _Session:
    """One language: its server, if it runs, and what that has been told. One question at a time (`turn`)."""

    def __init__(self, client: Client, language: Language) -> None:
        self.language = language
        self.turn = trio.Lock()
        self._client = client
        self._server: Server | None = None
        self._is_new = True
        self._restless_until = 0.0
        # Text and version of the documents that are open, by URI; the one asked about last at the end.
        self._open: dict[str, tuple[str, int]] = {}
        self._files: dict[str, int] = {}
        self._ends: deque[float] = deque(maxlen=MAX_ENDS)

    def note_end(self) -> None:
        """The server has ended by itself."""
        self._server = None
        self._ends.append(time.monotonic())

    def note_silence(self) -> None:
        """A question was not answered in time. A server that does not even say that it works is started anew."""
        if self._server is not None and self._server.started.is_set() and not self._server.is_working:
            self._server.stop()
            self._server = None  # the next question does not wait until it has ended

    async def ask(self, document: _Document, method: str, capability: str, extra: Any) -> Any:
        """Ask once. Raises `ServerEnded`, `ToolError`."""
        server = await self._running()
        if server.capabilities.get(capability, False) in (False, None):  # options, even empty ones, are a yes
            raise ToolError(f"{self.language.name} cannot answer {method}", code="LSP_UNSUPPORTED_OPERATION")
        await self._tell_changes(server)
        self._show(server, document)
        parameters = {"textDocument": {"uri": document.uri}, "position": document.position, **extra}
        answer = await self._answer(server, method, parameters)
        while time.monotonic() < self._restless_until:
            # A server works changes in behind its answers, and until then they lack what it has not got to.
            await trio.sleep(_RESTLESS_PAUSE)
            before, answer = answer, await self._answer(server, method, parameters)
            if answer == before:
                break
        return answer

    async def _answer(self, server: Server, method: str, parameters: dict[str, Any]) -> Any:
        """Return the answer to a question. Nothing may mean: not indexed yet; it is asked again once that is done."""
        answer = None
        for _ in range(_MAX_QUESTIONS):
            begun = server.begun - (1 if server.is_working else 0)
            answer = await server.request(method, parameters)
            seconds = _FIRST_WORK_SECONDS if self._is_new else 0.0
            self._is_new = False
            if answer not in (None, []) or not await server.settled(begun, seconds):
                break
        return answer

    async def _running(self) -> Server:
        if self._server is None or self._server.ended is not None:
            recent = [end for end in self._ends if end > time.monotonic() - ENDS_SECONDS]
            if len(recent) == MAX_ENDS:
                raise ToolError(
                    f"{self.language.name} ended {MAX_ENDS} times within {ENDS_SECONDS:g} s and is not started "
                    "again for now; read and grep work without it",
                    code="LSP_UNAVAILABLE",
                )
            self._open = {}
            self._is_new = True
            self._files = await self._scan()
            self._server = self._client.start(self)
        server = self._server
        await server.started.wait()
        if server.ended is not None:
            raise ServerEnded(server.ended)
        if self._is_new:
            self._note_change()
        return server

    def _note_change(self) -> None:
        self._restless_until = time.monotonic() + _RESTLESS_SECONDS

    async def _scan(self) -> dict[str, int]:
        """Return the files that the server is to know of; in a workspace too large to look through, those known."""
        endings = frozenset(self.language.files)
        try:
            return await trio.to_thread.run_sync(self._client.scan, endings, abandon_on_cancel=True)
        except ToolError:
            return self._files

    async def _tell_changes(self, server: Server) -> None:
        """Tell the server which files have come, changed and gone."""
        files = await self._scan()
        changes = [
            {"uri": Path(self._client.workspace.root, path).as_uri(), "type": kind}
            for path, kind in (
                *((path, _CREATED) for path in files.keys() - self._files.keys()),
                *(
                    (path, _CHANGED)
                    for path in files.keys() & self._files.keys()
                    if files[path] != self._files[path]
                ),
                *((path, _DELETED) for path in self._files.keys() - files.keys()),
            )
        ]
        self._files = files
        if changes:
            self._note_change()
            server.notify("workspace/didChangeWatchedFiles", {"changes": changes})
            # What is open is the client's to keep up to date; closed, the file on disk counts again.
            for change in changes:
                if change["uri"] in self._open:
                    self._close(server, str(change["uri"]))

    def _show(self, server: Server, document: _Document) -> None:
        """See to it that the server has a document open, with the text that it has on disk."""
        known = self._open.pop(document.uri, None)
        if known is None:
            item = {
                "uri": document.uri,
                "languageId": self.language.files[document.ending],
                "version": 1,
                "text": document.text,
            }
            server.notify("textDocument/didOpen", {"textDocument": item})
            self._open[document.uri] = (document.text, 1)
        else:
            text, version = known
            if text != document.text:
                version += 1
                self._note_change()
                item = {"uri": document.uri, "version": version}
                changes = [{"text": document.text}]
                server.notify("textDocument/didChange", {"textDocument": item, "contentChanges": changes})
            self._open[document.uri] = (document.text, version)
        while len(self._open) > MAX_OPEN_DOCUMENTS:
            self._close(server, next(iter(self._open)))

    def _close(self, server: Server, uri: str) -> None:
        del self._open[uri]
        server.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


_CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True},
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "didChangeWatchedFiles": {"dynamicRegistration": True},
    },
    "textDocument": {
        "synchronization": {},
        "definition": {"linkSupport": True},
        "implementation": {"linkSupport": True},
        "references": {},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
    },
}
