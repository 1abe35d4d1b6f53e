"""What is stored of an answer is all of it; what is missing is said, and nothing is made up."""

from __future__ import annotations

import copy
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode.conversation import AssistantTurn, Incomplete, build_request, read, require, text_of, to_message
from codemode.conversation.anthropic_wire import request_body
from codemode.conversation.blocks import Other
from codemode.errors import IncompleteStateError
from codemode.values import thaw
from tests.conversation.scripts import Json, answers, redacted, said, thought, use
from tests.conversation.support import asked, received, received_message, results

ANSWER = received(said("Checking"), use("call-7", "look"), redacted("b3BhcXVl"), thought("hm", "c2ln"))
"""Text, a call and opaque state, as in the teaching example."""


def stored(turn: AssistantTurn = ANSWER) -> Any:
    """The stored form after a way through a file."""
    return json.loads(msgspec.json.encode(to_message(turn)))


def test_what_was_stored_is_taken_up_equal_and_the_call_keeps_its_id():
    again = require(stored())
    assert again == ANSWER
    body: Any = request_body(
        build_request([asked(), again, results("call-7")], provider="anthropic", model="m", max_tokens=9)
    )
    assert json.dumps(body["messages"][1]["content"]) == json.dumps([block.wire for block in ANSWER.content])
    assert body["messages"][2]["content"][0]["tool_use_id"] == "call-7"


def test_display_takes_the_text_only_and_takes_nothing_away():
    before = stored()
    assert text_of(ANSWER) == "Checking"
    assert stored() == before
    assert "b3BhcXVl" in json.dumps(before)


@pytest.mark.parametrize("index", range(4))
def test_a_removed_block_is_an_incomplete_state_that_names_it(index: int):
    message = stored()
    kind = message["content"][index]["type"]
    del message["content"][index]
    found = read(message)
    assert isinstance(found, Incomplete)
    name = {"tool_use": "tool_use call-7"}.get(kind, kind)
    assert found.missing == (f"content[{index}] ({name})",)
    with pytest.raises(IncompleteStateError, match=rf"event 5: content\[{index}\] \({name}\)"):
        require(message, "event 5")


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        (lambda m: m["content"][2].update(data="aW52ZW50ZWQ="), "the blocks as they were received"),
        (lambda m: m["content"][3].update(signature="made up"), "the blocks as they were received"),
        (lambda m: m["content"][1].update(id="call-8"), "content[1] (tool_use call-7)"),
        (lambda m: m["content"].append(said("and more")), "an outline of 1 more blocks than it has"),
        (lambda m: m["content"].reverse(), "content[0] (text)"),
        (lambda m: m.pop("content"), "content"),
        (lambda m: m.pop("envelope"), "envelope"),
        (lambda m: m.pop("seal"), "seal"),
        (lambda m: m.update(outline=None), "outline: a list"),
        (lambda m: m.update(stop="later"), "the reason for stopping, or the envelope"),
        (lambda m: m.update(content="Checking"), "content: a list of blocks"),
        (lambda m: m.update(provider="elsewhere"), "a reader for the provider 'elsewhere'"),
    ],
)
def test_what_was_changed_or_is_missing_is_said_and_never_made_up(change: Any, missing: str):
    message = stored()
    change(message)
    found = read(message)
    assert isinstance(found, Incomplete)
    assert found.missing[0].startswith(missing)


def test_a_summary_is_no_state_to_go_on_from():
    """Only the displayed text was saved: there is nothing to go on from, and no id to invent."""
    for message in (
        "we were checking",
        {"role": "assistant", "text": "Checking"},
        {"content": [said("Checking")]},
    ):
        found = read(message)
        assert isinstance(found, Incomplete)
        assert found.missing


def test_a_block_of_an_unknown_type_is_kept():
    odd = {"type": "a_type_of_tomorrow", "state": {"deep": ["=="]}}
    again = require(stored(received(said("x"), odd)))
    assert isinstance(again.content[1], Other)
    assert thaw(again.content[1].wire) == odd


@settings(max_examples=60, deadline=None)
@given(answers(), st.data())
def test_any_answer_survives_storage_and_any_loss_is_noticed(message: Json, data: st.DataObject):
    turn = received_message(message)
    assert require(stored(turn)) == turn
    damaged = stored(turn)
    index = data.draw(st.integers(0, len(damaged["content"]) - 1))
    if data.draw(st.booleans()):
        del damaged["content"][index]
    else:
        block = damaged["content"][index]
        field = data.draw(st.sampled_from(sorted(block)))
        before = copy.deepcopy(block)
        block[field] = "something else"
        if block == before:
            return
    assert isinstance(read(damaged), Incomplete)
