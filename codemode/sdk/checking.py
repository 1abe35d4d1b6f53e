"""Checks a program against the tools before it runs, by the type checker `ty` in a process of its own.

The host writes files, starts `checker` and reads what it found as data; the program's text is parsed there, and
never here. What comes back are findings in the program's own lines, as sentences that a model can act upon.
"""

from __future__ import annotations

import difflib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec
import trio

from codemode.errors import CheckUnavailable
from codemode.sdk.spelling import one_line
from codemode.sdk.stubs import MODULE, builtins_stub, tools_stub
from codemode.tools.definition import Tool

__all__ = ["Checker", "Finding"]

_SECONDS = 20
_PREFIX = "ToolType_"
_MOST_FINDINGS = 20
_MOST_TOOL_SETS = 8
_ANSWER_BYTES = 4 * 1024 * 1024


_PERHAPS = {
    "unreached": "; perhaps no run comes to this line",
    "caught": "; the program may catch what is raised",
    "unsure": "",
}


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong. `line` and `column` count from 1; `message` is one line; `certain` says that no run
    that reaches the line could go well. Otherwise `perhaps` says why a run might: the line is `unreached`, what is
    raised is `caught`, or the checker itself is `unsure`."""

    line: int
    column: int
    message: str
    certain: bool
    perhaps: str = ""

    def said(self) -> str:
        """Return the finding as one line with its number."""
        return f"line {self.line}: {'' if self.certain else 'perhaps: '}{self.message}"


class _Found(msgspec.Struct):
    line: int
    column: int
    kind: str
    perhaps: Literal["", "unreached", "caught", "unsure"]
    name: str = ""
    type: str = ""
    callee: str = ""
    names: list[str | int | None] = []
    expected: str = ""
    found: str = ""


class _Answer(msgspec.Struct):
    findings: list[list[_Found]] = []
    failed: str = ""


class Checker:
    """Checks programs. Its files are in a temporary directory, which goes with it.

    Raises `CheckUnavailable` when `ty` is not installed.
    """

    def __init__(self) -> None:
        try:
            from ty import find_ty_bin
        except ImportError:
            raise CheckUnavailable(
                "checking programs needs the type checker ty: pip install 'codemode[check]'"
            ) from None
        self._ty = str(find_ty_bin())
        self._directory = tempfile.TemporaryDirectory(prefix="codemode-check-", ignore_cleanup_errors=True)
        self._sets: OrderedDict[tuple[Tool, ...], _ToolSet] = OrderedDict()
        self._made = 0

    async def check(self, source: str, tools: Sequence[Tool], *, seconds: float = _SECONDS) -> list[Finding]:
        """Return what is wrong with a program, in the order of its lines.

        Raises `CheckUnavailable` when the checker fails or needs more than `seconds`. Cancellation ends its process.
        """
        return (await self.check_all([source], tools, seconds=seconds))[0]

    async def check_all(
        self, sources: Sequence[str], tools: Sequence[Tool], *, seconds: float = _SECONDS
    ) -> list[list[Finding]]:
        """Return what is wrong with each of several programs, in their order. Much faster than one by one.

        `seconds` is for all of them. Raises, and is cancelled, as `check`.
        """
        known = await trio.to_thread.run_sync(self._tool_set, tuple(tools))
        with tempfile.TemporaryDirectory(dir=self._directory.name, ignore_cleanup_errors=True) as name:
            directory = Path(name)
            for at, source in enumerate(sources):
                (directory / f"{at}.py").write_bytes(source.encode("utf-8", "surrogatepass"))
            for style in ("sync", "async"):
                (directory / style).symlink_to(known.directory / style)
            answer = await self._ask(directory, seconds)
        return [[known.sentence(each) for each in found[:_MOST_FINDINGS]] for found in answer.findings]

    def _tool_set(self, tools: tuple[Tool, ...]) -> _ToolSet:
        found = self._sets.pop(tools, None)
        if found is None:
            self._made += 1
            found = _ToolSet(tools, Path(self._directory.name) / f"tools-{self._made}")
        self._sets[tools] = found
        if len(self._sets) > _MOST_TOOL_SETS:
            self._sets.popitem(last=False)[1].remove()
        return found

    async def _ask(self, directory: Path, seconds: float) -> _Answer:
        python = f"{sys.version_info[0]}.{sys.version_info[1]}"
        script = str(Path(__file__).with_name("checker"))
        command = [
            sys.executable,
            "-I",
            "-S",
            script,
            str(directory),
            self._ty,
            python,
            str(int(seconds) + 1),
        ]
        answer = bytearray()
        with trio.move_on_after(seconds) as limit:
            process = await trio.lowlevel.open_process(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                assert process.stdout is not None
                async for piece in process.stdout:
                    answer += piece
                    if len(answer) > _ANSWER_BYTES:
                        break
            finally:
                await _end(process)
        if limit.cancelled_caught:
            raise CheckUnavailable(f"the check of the program took longer than {seconds:g} s")
        try:
            told = msgspec.json.decode(answer, type=_Answer)
        except msgspec.MsgspecError:
            raise CheckUnavailable("the check of the program failed") from None
        if told.failed:
            raise CheckUnavailable(f"the type checker failed: {one_line(told.failed)[:500]}")
        return told


async def _end(process: trio.Process) -> None:
    """Kill the process and what it started, and take its exit code."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with trio.move_on_after(_SECONDS, shield=True):
        await process.wait()
        if process.stdout is not None:
            await process.stdout.aclose()


class _ToolSet:
    """The stubs of one set of tools, written once, and what is needed to speak of them."""

    def __init__(self, tools: tuple[Tool, ...], directory: Path) -> None:
        self.directory = directory
        self._tools = {each.name: each for each in tools}
        self._callables: dict[str, str] = {}
        self._fields: dict[str, list[str]] = {}
        for style in ("sync", "async"):
            stub = tools_stub(tools, style, prefix=_PREFIX)
            self._callables = stub.callables
            self._fields = stub.fields
            place = directory / style
            place.mkdir(parents=True)
            builtins = builtins_stub(stub.objects, unavailable=False)
            (place / "__builtins__.pyi").write_text(builtins, "utf-8")
            (place / f"{MODULE}.pyi").write_text(stub.text, "utf-8")
            names = {"tools": sorted(self._tools), "objects": stub.objects}
            (place / "names.json").write_text(json.dumps(names), "utf-8")

    def remove(self) -> None:
        for style in ("sync", "async"):
            for file in (self.directory / style).iterdir():
                file.unlink()
            (self.directory / style).rmdir()

    def sentence(self, found: _Found) -> Finding:
        message = one_line(self._words(found))[:1000] + _PERHAPS.get(found.perhaps, "")
        return Finding(found.line, found.column, message, not found.perhaps, found.perhaps)

    def _words(self, found: _Found) -> str:
        if found.kind == "unparsable":
            return f"this is not Python: {found.name}"
        if found.kind == "unknown-tool":
            known = sorted(self._tools)
            there = f"; there are: {', '.join(known[:20])}{', …' if len(known) > 20 else ''}" if known else ""
            return f"there is no tool {found.name!r}{_near(found.name, known) or there}"
        if found.kind == "unknown-method":
            methods = [each.method.partition(".") for each in self._tools.values() if each.method]
            known = sorted(method for owner, _, method in methods if owner == found.type)
            return f"{found.type} has no {found.name!r}{_near(found.name, known)}; it has: {', '.join(known)}"
        if found.kind == "not-awaited":
            return "this tool call is not awaited; write (await tools.name(...)) in a program that uses await"
        if found.kind in ("field", "attribute", "index"):
            return self._about_fields(found)
        return self._about_arguments(found)

    def _about_fields(self, found: _Found) -> str:
        owner = found.type.replace(_PREFIX, "")
        name = owner.removeprefix("list[").removesuffix("]")
        fields = self._fields.get(_PREFIX + name, [])
        if found.kind == "index":
            return f"{found.name!r} is no index of {owner}; take an element first: value[0][{found.name!r}]"
        if found.kind == "attribute":
            if owner.startswith("list["):
                return (
                    f"{owner} has no attribute {found.name!r}; it is a list: loop over it, or take value[0]"
                )
            if found.name in fields:
                return f"values are dicts: write value[{found.name!r}], not value.{found.name}"
        has = ", ".join(map(repr, fields[:20]))
        return f"{owner} has no field {found.name!r}{_near(found.name, fields)}; it has {has}"

    def _about_arguments(self, found: _Found) -> str:
        tool = self._tools.get(self._callables.get(found.callee, ""))
        if tool is None:
            return "this call does not fit the tool's signature"
        called = tool.method or tool.name
        names = [str(name) for name in found.names if isinstance(name, str)]
        signature = f"; its signature: {tool.signature}"
        if found.kind == "missing-argument":
            return f"the call of {called} lacks {', '.join(map(repr, names)) or 'an argument'}{signature}"
        if found.kind == "unknown-argument" and names:
            return (
                f"{called} has no parameter {names[0]!r}{_near(names[0], tool.parameters.names)}{signature}"
            )
        if found.kind == "too-many-positional-arguments":
            return f"too many arguments for {called}{signature}"
        if found.expected:
            which = found.names[0] if found.names else None
            if isinstance(which, int):
                which = tool.parameters.names[which] if which < len(tool.parameters.names) else None
            argument = f"argument {which!r} of {called}" if which else f"an argument of {called}"
            expected = (
                found.expected.replace(_PREFIX, "").replace("Sequence[", "list[").replace("Mapping[", "dict[")
            )
            return f"{argument} is {expected}, not {found.found.replace(_PREFIX, '')}{signature}"
        return f"this call does not fit {called}{signature}"


def _near(name: str, known: Any) -> str:
    found = difflib.get_close_matches(name[:100], list(known), 1) if known else []
    return f"; did you mean {found[0]!r}?" if found else ""
