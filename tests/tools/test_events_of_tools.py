"""Tools that put events of their own into the session of their call."""

import pytest

from codemode import Call, CodeMode, Session, SessionError, as_json, tool
from codemode.tools.pipeline import Pipeline
from codemode.tools.registry import Registry


@tool(render=as_json)
async def note(text: str, call: Call) -> None:
    call.record("my/note", {"text": text, "from": call.id}, ignorable=True)


@tool(render=as_json)
def note_in_a_thread(text: str, call: Call) -> None:
    call.record("my/note", {"text": text}, ignorable=True)


@tool(render=as_json)
async def unknown(call: Call) -> None:
    call.record("my/note", {})


async def test_an_event_stands_between_start_and_end_of_the_call_and_is_durable_with_it(tmp_path):
    async with CodeMode([note, note_in_a_thread], session=tmp_path / "s.db") as cm:
        await cm.call("note", {"text": "direct"})
        assert (await cm.run("tools.note('nested')\ntools.note_in_a_thread('thread')")).error is None
        with Session.read(tmp_path / "s.db") as log:
            events = [
                event
                for event in log.events()
                if event.type
                in ("my/note", "tool/code-dispatch-start", "tool/code-dispatch", "tool/start", "tool/result")
            ]
    notes = [event.data["text"] for event in events if event.type == "my/note"]
    assert notes == ["direct", "nested", "thread"]
    assert [event.type for event in events[:3]] == ["tool/start", "my/note", "tool/result"]
    assert [event.type for event in events[4:7]] == [
        "tool/code-dispatch-start",
        "my/note",
        "tool/code-dispatch",
    ]
    assert events[5].data["from"] == events[4].data["subCallId"]


async def test_an_event_that_nobody_may_skip_has_to_be_a_known_one():
    async with CodeMode([unknown], sandbox=object()) as cm:
        outcome = await cm.call("unknown", {})
        assert isinstance(outcome.exception, SessionError)
        assert "ignorable=True" in outcome.error.message


@pytest.mark.parametrize("declared", [True, False, None, "yes", 1])
async def test_a_hook_sees_whether_a_tool_declares_to_change_nothing(declared):
    seen = []

    @tool(render=as_json, read_only=declared)
    async def look(call: Call) -> None:
        seen.append(call.read_only)

    await Pipeline(Registry([look])).execute("look", {}, id="1")
    assert seen == [declared is True]
