"""An editor completes `tools.` and knows the fields of a value: a language server over its own protocol."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codemode.sdk.stubs import MODULE, builtins_stub, tools_stub
from tests.sdk import toolsets
from tests.sdk.checkers import TY
from tests.sdk.toolsets import raw

PROGRAM = 'places = tools.find("x")\nfor place in places:\n    print(place["path"], place[""])\ntools.\n'


class Server:
    """A language server, asked one thing at a time."""

    def __init__(self, root: Path) -> None:
        self._process = subprocess.Popen(
            [TY, "server"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._count = 0
        folder = {"uri": root.as_uri(), "name": "program"}
        self.ask(
            "initialize",
            {"processId": None, "rootUri": root.as_uri(), "workspaceFolders": [folder], "capabilities": {}},
        )
        self.tell("initialized", {})

    def tell(self, method: str, parameters: Any) -> None:
        self._send({"method": method, "params": parameters})

    def ask(self, method: str, parameters: Any) -> Any:
        self._count += 1
        self._send({"id": self._count, "method": method, "params": parameters})
        while True:
            message = self._receive()
            if message.get("id") == self._count and "method" not in message:
                assert "error" not in message, message
                return message["result"]
            if "id" in message:  # the server asks something of the editor
                wanted = message["params"].get("items", []) if isinstance(message.get("params"), dict) else []
                self._send({"id": message["id"], "result": [{} for _ in wanted] or None})

    def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _receive(self) -> Any:
        assert self._process.stdout is not None
        length = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length, "the language server has ended"
        return json.loads(self._process.stdout.read(length))

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[tuple[Server, str]]:
    (tmp_path / "__builtins__.pyi").write_text(builtins_stub(), "utf-8")
    tools = [toolsets.find, toolsets.pets, raw("my-tool")]
    (tmp_path / f"{MODULE}.pyi").write_text(tools_stub(tools).text, "utf-8")
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, "utf-8")
    server = Server(tmp_path)
    document = {"uri": file.as_uri(), "languageId": "python", "version": 1, "text": PROGRAM}
    server.tell("textDocument/didOpen", {"textDocument": document})
    yield server, file.as_uri()
    server.close()


def at(uri: str, line: int, character: int) -> dict[str, Any]:
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}


def completions(server: Server, uri: str, line: int, character: int) -> set[str]:
    found = server.ask("textDocument/completion", at(uri, line, character))
    items = found["items"] if isinstance(found, dict) else found or []
    return {item["label"].strip("\"'") for item in items}


@pytest.mark.timeout(60)
def test_an_editor_completes_the_tools_and_knows_values(editor: tuple[Server, str]) -> None:
    server, uri = editor
    found = completions(server, uri, 3, len("tools."))
    assert {"find", "pets", "search", "describe"} <= found
    hover = server.ask("textDocument/hover", at(uri, 3 - 3, PROGRAM.index("find") + 1))
    shown = json.dumps(hover["contents"])
    assert "pattern: str" in shown
    assert "list[Place]" in shown
    assert "Find files. Gives their places." in shown
    value = server.ask("textDocument/hover", at(uri, 2, len("    print(pla")))
    assert "Place" in json.dumps(value["contents"])
    fields = completions(server, uri, 2, PROGRAM.splitlines()[2].index('""') + 1)
    assert {"path", "line"} <= fields
