"""What can go wrong with a language server, with one that does it on purpose."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
import trio

from codemode import CodeMode, ToolDefinitionError
from codemode.toolkits.lsp import Language, lsp
from codemode.toolkits.lsp.framing import Framing, FramingError, frame
from codemode.tools.pipeline import Pipeline
from codemode.tools.registry import Registry
from tests.toolkits.calling import both, failure, program_failure, shown, value
from tests.toolkits.support import children, fill

FAKE = str(Path(__file__).parent / "fake_server.py")
ASK = {"operation": "goToDefinition", "file_path": "a.x", "line": 1, "character": 1}


@pytest.fixture
def journal(tmp_path):
    path = tmp_path / "journal"
    path.touch()
    return path


@pytest.fixture(autouse=True)
def answers_count_at_once(monkeypatch):
    """What the fake server answers does not ripen."""
    monkeypatch.setattr("codemode.toolkits.lsp.client._RESTLESS_SECONDS", 0.0)


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    before = children()
    yield
    assert children() == before


def fake(behaviour, journal, **options):
    command = (sys.executable, "-I", FAKE, behaviour, str(journal))
    return Language("fake", command, {".x": "x"}, **options)


def notes(journal, word):
    return [line for line in journal.read_text().splitlines() if line.startswith(word)]


def engine(tools, **options):
    return CodeMode(tools, sandbox=object(), **options)  # no program is run


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


async def test_the_value_and_what_is_shown(root, journal):
    fill(root, {"a.x": "one\n", "dir/b c.x": "two\n"})
    async with CodeMode(lsp(root, [fake("", journal)])) as cm:
        uri = f"file://{root}/a.x"
        got = await value(cm, "lsp", **ASK)
        assert got == {
            "kind": "locations",
            "locations": [
                {
                    "uri": uri,
                    "range": {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 1}},
                }
            ],
            "resolvedWorkspaceUri": f"file://{root}",
        }
        assert await shown(cm, "lsp", **ASK) == "a.x:3:1"
        assert await shown(cm, "lsp", **{**ASK, "file_path": "dir/b c.x"}) == "dir/b c.x:4:1"
        assert await both(cm, "lsp", **{**ASK, "operation": "hover"}) == {
            "kind": "hover",
            "hover": {"contents": "**x**"},
        }
    assert len(notes(journal, "start")) == 1
    assert notes(journal, "shutdown") == ["shutdown"]


async def test_many_places_are_all_in_the_value_and_the_first_hundred_shown(root, journal):
    fill(root, {"a.x": "one\n"})
    async with CodeMode(lsp(root, [fake("many", journal)])) as cm:
        assert len((await both(cm, "lsp", **ASK))["locations"]) == 102
        lines = (await shown(cm, "lsp", **ASK)).splitlines()
        assert lines[99:] == ["a.x:100:1", "… 2 more locations omitted (limit 100)."]


RANGE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 3}}


@pytest.mark.parametrize(
    ("answer", "operation", "text"),
    [
        (None, "goToDefinition", "No results."),
        ([], "findReferences", "No results."),
        ({"uri": "file:///usr/lib/x.x", "range": RANGE}, "goToDefinition", "/usr/lib/x.x:1:1"),
        (
            [{"targetUri": "jdt://a/b", "targetRange": RANGE, "targetSelectionRange": RANGE}],
            "goToDefinition",
            "jdt://a/b:1:1",
        ),
        ([{"uri": "file://[/x", "range": RANGE}] * 2, "goToDefinition", "file://[/x:1:1"),
        (None, "hover", "No hover information."),
        ({"contents": ""}, "hover", "No hover information."),
        (
            {"contents": [{"language": "py", "value": "def f()"}, "Docs.", ""], "range": RANGE},
            "hover",
            "```py\ndef f()\n```\n\nDocs.",
        ),
    ],
)
async def test_the_forms_of_answers(root, journal, answer, operation, text):
    fill(root, {"a.x": "one\n"})
    async with engine(lsp(root, [fake("says " + json.dumps(answer), journal)])) as cm:
        assert await shown(cm, "lsp", **{**ASK, "operation": operation}) == text


async def test_a_long_description_is_cut(root, journal):
    fill(root, {"a.x": "one\n"})
    async with CodeMode(lsp(root, [fake("says " + json.dumps({"contents": "x" * 20_000}), journal)])) as cm:
        text = await shown(cm, "lsp", **{**ASK, "operation": "hover"})
        assert len(text) == 16_000
        assert text.endswith("x\n… hover truncated (limit 16000 characters).")
        assert len((await both(cm, "lsp", **{**ASK, "operation": "hover"}))["hover"]["contents"]) == 20_000


@pytest.mark.parametrize(
    "answer",
    [
        7,
        "x",
        [1],
        [{"uri": "a"}],
        [{"uri": 1, "range": RANGE}],
        {"uri": "a", "range": {**RANGE, "start": {"line": -1, "character": 0}}},
    ],
)
async def test_an_answer_that_is_none_is_malformed(root, journal, answer):
    fill(root, {"a.x": "one\n"})
    async with engine(lsp(root, [fake("says " + json.dumps(answer), journal)])) as cm:
        assert (await failure(cm, "lsp", **ASK)).code == "LSP_MALFORMED_RESPONSE"


async def test_a_server_that_crashes_once_is_started_again(root, journal):
    fill(root, {"a.x": "one\n"})
    async with engine(lsp(root, [fake("crashes-once", journal)])) as cm:
        assert len((await value(cm, "lsp", **ASK))["locations"]) == 1
        assert len(notes(journal, "start")) == 2
        assert len(notes(journal, "didOpen")) == 2
        await value(cm, "lsp", **ASK)
        assert len(notes(journal, "start")) == 2


async def test_a_server_that_always_crashes_is_given_up_for_a_while(root, journal):
    fill(root, {"a.x": "one\n"})
    async with CodeMode(lsp(root, [fake("crashes", journal)])) as cm:
        error = await failure(cm, "lsp", **ASK)
        assert (error.code, error.message) == (
            "LSP_UNAVAILABLE",
            "fake cannot be used: its process ended by signal 9",
        )
        await failure(cm, "lsp", **ASK)
        error = await failure(cm, "lsp", **ASK)
        assert error.code == "LSP_UNAVAILABLE"
        assert "ended 5 times" in error.message
        assert (await program_failure(cm, "lsp", **ASK))[0] == "LSP_UNAVAILABLE"
        assert len(notes(journal, "start")) == 5


async def test_what_a_server_wrote_before_it_died_is_said(root, journal):
    fill(root, {"a.x": "one\n"})
    async with engine(lsp(root, [fake("dies-at-start", journal)])) as cm:
        error = await failure(cm, "lsp", **ASK)
        assert error.code == "LSP_UNAVAILABLE"
        assert error.message.endswith("exit code 1; it wrote: no licence")
    async with engine(lsp(root, [fake("refuses", journal)])) as cm:
        assert "wrong version" in (await failure(cm, "lsp", **ASK)).message
    missing = Language("missing", ("/nonexistent/server",), {".x": "x"})
    async with engine(lsp(root, [missing])) as cm:
        error = await failure(cm, "lsp", **ASK)
        assert error.message == "missing cannot be used: it cannot be started: No such file or directory"


@pytest.mark.parametrize("behaviour", ["garbage", "huge", "flood"])
async def test_a_server_that_does_not_speak_the_protocol(root, journal, behaviour):
    fill(root, {"a.x": "one\n"})
    async with engine(lsp(root, [fake(behaviour, journal)])) as cm:
        error = await failure(cm, "lsp", **ASK)
        assert error.code == "LSP_UNAVAILABLE"
        assert "cannot be understood" in error.message


@pytest.mark.parametrize("behaviour", ["indexes", "indexes-late"])
async def test_while_it_indexes_nothing_may_mean_not_yet(root, journal, behaviour):
    fill(root, {"a.x": "one\n"})
    async with engine(lsp(root, [fake(behaviour, journal)])) as cm:
        assert (await value(cm, "lsp", **ASK))["locations"][0]["range"]["start"]["line"] == 2


async def test_shortly_after_a_change_an_answer_counts_when_it_is_given_twice(root, journal, monkeypatch):
    monkeypatch.setattr("codemode.toolkits.lsp.client._RESTLESS_SECONDS", 60.0)
    monkeypatch.setattr("codemode.toolkits.lsp.client._RESTLESS_PAUSE", 0.01)
    fill(root, {"a.x": "one\n"})
    async with engine(lsp(root, [fake("ripens", journal)])) as cm:
        assert (await value(cm, "lsp", **ASK))["locations"][0]["range"]["start"]["line"] == 3
    assert len(notes(journal, "position")) == 4


async def test_a_server_that_announces_work_for_each_question_is_not_asked_for_ever(root, journal):
    fill(root, {"a.x": "one\n"})
    async with engine(lsp(root, [fake("announces", journal)])) as cm:
        assert (await value(cm, "lsp", **ASK))["locations"] == []
    assert len(notes(journal, "position")) == 5


async def test_a_server_that_is_busy_is_asked_again(root, journal):
    fill(root, {"a.x": "one\n"})
    async with engine(lsp(root, [fake("busy", journal)])) as cm:
        assert (await value(cm, "lsp", **ASK))["locations"][0]["range"]["start"]["line"] == 3
    async with engine(lsp(root, [fake("fails", journal)])) as cm:
        error = await failure(cm, "lsp", **ASK)
        assert (error.code, error.message) == (
            "LSP_REQUEST_FAILED",
            "fake could not answer textDocument/definition: internal",
        )


async def test_a_workspace_too_large_to_look_through_can_be_asked_about(root, journal, monkeypatch):
    monkeypatch.setattr("codemode.toolkits.lsp.client._SCAN_SECONDS", -1.0)
    fill(root, {"a.x": "one\n"})
    async with engine(lsp(root, [fake("", journal)])) as cm:
        await value(cm, "lsp", **ASK)
        fill(root, {"new.x": "n\n"})
        await value(cm, "lsp", **ASK)
    assert notes(journal, "changes") == []


@pytest.mark.parametrize("behaviour", ["hangs", "silent"])
async def test_a_server_that_does_not_answer_is_not_waited_for_and_started_anew(root, journal, behaviour):
    fill(root, {"a.x": "one\n"})
    async with engine(lsp(root, [fake(behaviour, journal)], seconds=1.5)) as cm:
        assert (await failure(cm, "lsp", **ASK)).code == "LSP_TIMEOUT"
        assert (await failure(cm, "lsp", **ASK)).code == "LSP_TIMEOUT"
        assert len(notes(journal, "start")) == 2


async def test_a_call_that_is_cancelled_leaves_the_server_running(root, journal):
    fill(root, {"a.x": "one\n"})
    async with engine(lsp(root, [fake("silent", journal)])) as cm:
        with trio.move_on_after(30) as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(cm.call, "lsp", ASK)
                while not notes(journal, "position"):
                    await trio.sleep(0.01)
                nursery.cancel_scope.cancel()
        assert not scope.cancelled_caught
        with trio.fail_after(30):
            while not notes(journal, "cancelled"):
                await trio.sleep(0.01)
        assert alive(notes(journal, "start")[0].split()[1])


@pytest.mark.parametrize("behaviour", ["has-a-child", "ignores-the-end"])
async def test_nothing_of_a_server_outlives_the_block(root, journal, behaviour):
    fill(root, {"a.x": "one\n"})
    async with engine(lsp(root, [fake(behaviour, journal)])) as cm:
        await value(cm, "lsp", **ASK)
        pids = [line.split()[1] for line in notes(journal, "start") + notes(journal, "child")]
        assert all(map(alive, pids))
    with trio.fail_after(10):  # what a dead parent left is reaped by the system
        while any(map(alive, pids)):
            await trio.sleep(0.02)


async def test_after_the_block_nothing_is_asked_any_more(root, journal):
    fill(root, {"a.x": "one\n"})
    tools = lsp(root, [fake("", journal)])
    async with engine(tools) as cm, engine(tools) as other:
        await value(cm, "lsp", **ASK)
        assert (await failure(other, "lsp", **ASK)).code == "IN_USE"
    async with engine(tools) as cm:  # it can be used again
        await value(cm, "lsp", **ASK)
    assert len(notes(journal, "start")) == len(notes(journal, "shutdown")) == 2
    outcome = await Pipeline(Registry(tools)).execute("lsp", ASK, id="1")
    assert outcome.error.code == "LSP_DISPOSED"


async def test_the_server_knows_the_files_as_they_are_at_each_question(root, journal):
    fill(root, {"a.x": "one\n", "b.x": "two\n", "c.y": "three\n"})
    async with engine(lsp(root, [fake("", journal)])) as cm:
        await value(cm, "lsp", **ASK)
        await value(cm, "lsp", **ASK)
        assert notes(journal, "didOpen") == ["didOpen a.x 1 'one\\n'"]
        fill(root, {"new.x": "n\n", "c.y": "other\n"})
        (root / "b.x").unlink()
        await value(cm, "lsp", **ASK)
        assert notes(journal, "changes") == ['changes [["b.x", 3], ["new.x", 1]]']
        fill(root, {"a.x": "changed\n"})
        os.utime(root / "a.x", ns=(1, 1))
        await value(cm, "lsp", **ASK)
        assert notes(journal, "did")[-1] == "didOpen a.x 1 'changed\\n'"
        assert notes(journal, "changes")[-1] == 'changes [["a.x", 2]]'


async def test_a_file_that_is_ignored_is_kept_up_to_date_too(root, journal):
    fill(root, {".gitignore": "a.x\n", "a.x": "one\n"})
    async with engine(lsp(root, [fake("", journal)])) as cm:
        await value(cm, "lsp", **ASK)
        fill(root, {"a.x": "two\n"})
        await value(cm, "lsp", **ASK)
    assert notes(journal, "did") == ["didOpen a.x 1 'one\\n'", "didChange a.x 2 'two\\n'"]


async def test_documents_that_were_not_asked_about_for_long_are_closed(root, journal, monkeypatch):
    monkeypatch.setattr("codemode.toolkits.lsp.client.MAX_OPEN_DOCUMENTS", 2)
    fill(root, {f"{n}.x": f"{n}\n" for n in range(3)})
    async with engine(lsp(root, [fake("", journal)])) as cm:
        for n in (0, 1, 0, 2):
            await value(cm, "lsp", **{**ASK, "file_path": f"{n}.x"})
        await value(cm, "lsp", **{**ASK, "file_path": "2.x"})
    assert [line.split()[1] for line in notes(journal, "didClose")] == ["1.x"]


async def test_what_a_server_asks_is_answered(root, journal):
    fill(root, {"a.x": "one\n"})
    language = fake("asks", journal, settings={"fake": {"depth": 3}})
    async with engine(lsp(root, [language])) as cm:
        await value(cm, "lsp", **ASK)
        with trio.fail_after(20):
            while len(notes(journal, "answer")) < 4:
                await trio.sleep(0.01)
    answers = [json.loads(line.removeprefix("answer ")) for line in notes(journal, "answer")]
    assert answers[0] == [3, None]
    assert answers[1]["code"] == -32601
    assert answers[2] == [{"uri": f"file://{root}", "name": "workspace"}]
    assert answers[3]["code"] == -32602


async def test_a_server_gets_no_secrets_of_the_host(root, journal, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hush")
    fill(root, {"a.x": "one\n"})
    async with engine(lsp(root, [fake("", journal)])) as cm:
        await value(cm, "lsp", **ASK)
    assert notes(journal, "start")[0].endswith(" None")


async def test_characters_are_counted_as_a_reader_does(root, journal):
    fill(root, {"a.x": "one\r\n\U0001f600é\U0001f600x\n"})
    async with engine(lsp(root, [fake("", journal)])) as cm:
        await value(cm, "lsp", **{**ASK, "line": 2, "character": 4})
    assert notes(journal, "position") == ['position {"line": 1, "character": 5}']


async def test_questions_that_cannot_be_asked_start_no_server(root, journal):
    fill(root, {"a.x": "one\n", "a.txt": "", "bin.x": b"a\0", "big.x": b"x" * (10 * 2**20 + 1)})
    (root / "out.x").symlink_to(root.parent / "outside" / "secret.txt")
    async with engine(lsp(root, [fake("", journal)])) as cm:
        for change, code in [
            ({"file_path": "a.txt"}, "LSP_UNAVAILABLE"),
            ({"file_path": "none.x"}, "FS_NOT_FOUND"),
            ({"file_path": "../outside/secret.x"}, "FS_OUTSIDE_WORKSPACE"),
            ({"file_path": "out.x"}, "FS_OUTSIDE_WORKSPACE"),
            ({"file_path": "bin.x"}, "FS_NOT_TEXT"),
            ({"file_path": "big.x"}, "FS_TOO_LARGE"),
            ({"line": 3}, "LSP_OUT_OF_RANGE"),
            ({"character": 5}, "LSP_OUT_OF_RANGE"),
            ({"line": 0}, "INVALID_ARGUMENTS"),
            ({"operation": "rename"}, "INVALID_ARGUMENTS"),
            ({"file_path": ""}, "INVALID_ARGUMENTS"),
        ]:
            assert (await failure(cm, "lsp", **{**ASK, **change})).code == code, change
        assert journal.read_text() == ""
        error = await failure(cm, "lsp", **{**ASK, "operation": "goToImplementation"})
        assert error.code == "LSP_UNSUPPORTED_OPERATION"


def test_without_any_server_there_is_no_toolkit(root):
    with pytest.raises(ToolDefinitionError, match="pip install basedpyright"):
        lsp(root, [])


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_messages_arrive_in_any_pieces(size):
    messages = [{"a": "é" * 100}, {"b": list(range(50))}, {}]
    data = b"".join(map(frame, messages))
    framing = Framing()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert [message for piece in pieces for message in framing.feed(piece)] == messages


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: x\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 3\r\n\r\n{{{",
        b"Length: 2\r\n\r\n{}",
        b"x" * 10_000,
        b"Content-Length: 99999999999\r\n\r\n",
        b"Content-Length: 100000\r\n\r\n" + b"[" * 100_000,
    ],
)
def test_what_is_no_message_is_refused(data):
    with pytest.raises(FramingError):
        list(Framing().feed(data))
