"""Three lists stay in step: what converters produce, what assistant messages carry, and `to_block` between them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

import codemode
from codemode.conversation import (
    UserTurn,
    anthropic_wire,
    build_request,
    openai_wire,
    require,
    results,
    shown,
    text,
    to_message,
    tool_result,
)
from codemode.conversation.blocks import (
    AssistantBlock,
    Block,
    CustomToolUse,
    Document,
    Image,
    Other,
    OtherInput,
    Text,
    ToolResult,
    ToolUse,
    UserBlock,
)
from codemode.conversation.content import gaps, is_content, to_block
from codemode.conversation.results import (
    NOT_CONTENT,
    ContentResult,
    CustomToolCallResult,
    NotContent,
    Received,
    Result,
    WebSearchResult,
)
from codemode.conversation.streams import turn_of
from codemode.errors import IncompleteStateError
from codemode.values import freeze

WHOLE = freeze(
    {
        "type": "x",
        "id": "1",
        "call_id": "1",
        "name": "n",
        "input": "{}",
        "arguments": "{}",
        "thinking": "",
        "signature": "s",
        "data": "d",
    }
)
"""Has every field that any block needs."""


def every_result() -> set[type[Received]]:
    """All classes of results that there are, wherever they are written; not only those in the union."""
    found: set[type[Received]] = set()
    pending = [Received]
    while pending:
        for each in pending.pop().__subclasses__():
            if each.__module__.startswith("codemode."):
                found.add(each)
                pending.append(each)
    return found


def every_block() -> set[type[Block]]:
    found: set[type[Block]] = set()
    pending = [Block]
    while pending:
        for each in pending.pop().__subclasses__():
            if each.__module__.startswith("codemode."):
                found.add(each)
                pending.append(each)
    return found


def mapping() -> dict[type[Received], type[Block]]:
    """What `to_block` makes of one result of each class."""
    return {each: type(to_block(each(WHOLE))) for each in get_args(ContentResult)}


def test_the_three_lists_are_in_step():
    assert gaps(every_result(), get_args(AssistantBlock), mapping(), NOT_CONTENT) == []


def test_every_class_of_a_result_is_in_the_union_and_every_block_is_carried_by_a_message():
    assert every_result() == set(get_args(Result))
    assert every_block() == set(get_args(AssistantBlock)) | set(get_args(UserBlock))


def test_a_result_that_grows_alone_is_found():
    class CustomThing(Received, frozen=True):
        pass

    grown = {*every_result(), CustomThing}
    assert gaps(grown, get_args(AssistantBlock), mapping(), NOT_CONTENT) == [
        "CustomThing is neither mapped to a block nor named in NOT_CONTENT"
    ]
    assert gaps(grown, get_args(AssistantBlock), mapping(), (*NOT_CONTENT, CustomThing)) == []


def test_a_block_that_grows_alone_is_found():
    class NewBlock(Block, frozen=True):
        pass

    grown = (*get_args(AssistantBlock), NewBlock)
    assert gaps(every_result(), grown, mapping(), NOT_CONTENT) == ["no result becomes a NewBlock"]


def test_an_arm_that_grows_alone_is_found():
    class NewBlock(Block, frozen=True):
        pass

    grown = {**mapping(), WebSearchResult: NewBlock}
    found = gaps(every_result(), get_args(AssistantBlock), grown, NOT_CONTENT)
    assert found == [
        "WebSearchResult is mapped to NewBlock, which no assistant message carries",
        "no result becomes a WebSearch",
    ]
    both = gaps(every_result(), get_args(AssistantBlock), mapping(), (*NOT_CONTENT, WebSearchResult))
    assert both == ["WebSearchResult is mapped to a block and named in NOT_CONTENT"]


def test_what_is_no_content_is_named_on_purpose_and_refused_by_name():
    assert set(NOT_CONTENT) == set(get_args(NotContent))
    for each in ("VectorResult", "ObjectResult", "BinaryResult", "RerankingResult", "ChoiceResult"):
        assert getattr(results, each) in NOT_CONTENT
    for kind in NOT_CONTENT:
        assert not is_content(kind(WHOLE))
        with pytest.raises(TypeError, match=f"{kind.__name__} is no content of a message, on purpose"):
            to_block(kind(WHOLE))


def test_input_only_blocks_need_no_result():
    made = set(mapping().values())
    assert made.isdisjoint({Image, Document, ToolResult, OtherInput})
    assert Text in made  # text is both


def test_a_call_of_a_custom_tool_can_become_part_of_a_message():
    block = to_block(
        CustomToolCallResult(
            freeze({"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"})
        )
    )
    assert isinstance(block, CustomToolUse)
    assert isinstance(block, ToolUse)  # so that it has to be answered as every call
    assert (block.id, block.name, block.input) == ("c", "sql", "select 1")


@pytest.mark.parametrize("wire", [anthropic_wire, openai_wire])
def test_a_converter_has_a_result_for_every_type_and_drops_none(wire):
    for kind in [*wire._RESULTS, "a_type_of_tomorrow"]:
        result = wire.convert(freeze({**WHOLE, "type": kind}))
        block = to_block(result)
        assert block.wire is result.wire
        assert (type(block) is Other) == (kind == "a_type_of_tomorrow")
        assert isinstance(shown(block), str)


def test_web_search_results_are_kept_by_both_converters():
    assert isinstance(anthropic_wire.convert(freeze({"type": "web_search_tool_result"})), WebSearchResult)
    assert isinstance(openai_wire.convert(freeze({"type": "web_search_call"})), WebSearchResult)


def test_what_a_block_cannot_go_back_without_is_missed_by_name():
    for wire, missing in [
        ({"type": "tool_use", "name": "n", "input": {}}, "tool_use.id"),
        ({"type": "tool_use", "id": "1", "name": "n"}, "tool_use.input"),
        ({"type": "tool_use", "call_id": "1", "name": "n", "input": {}}, "tool_use.id"),
        ({"type": "thinking", "thinking": "hm"}, "thinking.signature"),
        ({"type": "redacted_thinking"}, "redacted_thinking.data"),
        ({"type": "function_call", "id": "1", "name": "n", "arguments": "{}"}, "function_call.call_id"),
        ({"type": "function_call", "call_id": "1", "name": "n", "input": {}}, "function_call.arguments"),
    ]:
        converter = openai_wire if wire["type"] == "function_call" else anthropic_wire
        with pytest.raises(IncompleteStateError) as caught:
            to_block(converter.convert(freeze(wire)))
        assert caught.value.missing == (missing,)


def test_fields_that_a_call_has_beside_those_of_its_format_say_nothing_of_it():
    used = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "n",
        "input": {"a": 1},
        "call_id": "x",
        "arguments": "{}",
    }
    block = to_block(anthropic_wire.convert(freeze(used)))
    assert isinstance(block, ToolUse)
    assert (block.id, block.input) == ("toolu_1", {"a": 1})
    item = {
        "type": "function_call",
        "id": "fc",
        "call_id": "c",
        "name": "n",
        "arguments": '{"a": 1}',
        "input": {},
    }
    block = to_block(openai_wire.convert(freeze(item)))
    assert isinstance(block, ToolUse)
    assert (block.id, block.input) == ("c", {"a": 1})


@pytest.mark.parametrize("wire", [anthropic_wire, openai_wire])
def test_every_type_goes_the_whole_way_from_an_answer_to_the_next_request(wire):
    """Where a type is forgotten it is not the converter that breaks, but what comes after it."""
    kinds = [kind for kind in [*wire._RESULTS, "a_type_of_tomorrow"] if kind != "custom_tool_call"]
    received = [
        freeze({**WHOLE, "type": kind, "id": f"{n}", "call_id": f"{n}"}) for n, kind in enumerate(kinds)
    ]
    turn = turn_of(wire.NAME, [wire.convert(each) for each in received], "tool-calls", freeze({}))
    assert turn.calls
    again = require(json.loads(json.dumps(to_message(turn))))
    assert again == turn
    results = UserTurn(tuple(tool_result(call.id, [{"type": "text", "text": "x"}]) for call in turn.calls))
    request = build_request(
        [UserTurn((text("go"),)), again, results], provider=wire.NAME, model="m", max_tokens=9
    )
    body: Any = wire.request_body(request)
    sent = body["messages"][1]["content"] if wire is anthropic_wire else body["input"][1 : len(kinds) + 1]
    said_nothing = {"text"} if wire is anthropic_wire else set()  # without its text here
    expected = [each for each in received if each["type"] not in said_nothing]
    assert json.dumps(sent) == json.dumps(expected)


def mypy(place: Path) -> tuple[int, str]:
    command = [sys.executable, "-m", "mypy", "--strict", "codemode/conversation"]
    ran = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout


def test_type_checking_fails_when_a_result_or_a_block_grows_alone(tmp_path: Path):
    """A class in one union and not in the other has no arm: mypy says so at `assert_never`."""
    source = Path(codemode.__file__).parent
    place = tmp_path / "codemode" / "conversation"
    place.mkdir(parents=True)
    for name in ("results.py", "blocks.py", "content.py", "turns.py", "display.py"):
        (place / name).write_text((source / "conversation" / name).read_text())
    for name in ("values.py", "errors.py", "control.py"):
        (tmp_path / "codemode" / name).write_text((source / name).read_text())
    for room in (place, place.parent):
        (room / "__init__.py").write_text("")
    assert mypy(tmp_path) == (0, "Success: no issues found in 6 source files\n")
    for name, root, union, last in [
        ("results.py", "Received", "ContentResult", "OtherResult"),
        ("blocks.py", "Block", "AssistantBlock", "Other"),
    ]:
        before = (place / name).read_text()
        grown = before.replace(f"    | {last}\n)", f"    | {last}\n    | Grown{root}\n)")
        added = f"class Grown{root}({root}, frozen=True):\n    pass\n\n\n{union}:"
        (place / name).write_text(re.sub(rf"(?m)^{union}:", added, grown))
    code, said = mypy(tmp_path)
    assert code == 1
    for where, what in [("content.py", "GrownReceived"), ("display.py", "GrownBlock")]:
        assert re.search(rf'{where}:\d+: error: .*"assert_never" has incompatible type "{what}"', said), said
