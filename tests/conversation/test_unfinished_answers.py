"""Answers that ended before they were whole: at a bound of tokens, in a refusal, or without what they need."""

from __future__ import annotations

import pytest

from codemode.errors import IncompleteStateError, StreamError, TruncatedTurnError
from tests.conversation.scripts import (
    Json,
    answer,
    events,
    redacted,
    said,
    thought,
    use,
)
from tests.conversation.support import play


def cut_call(text: str, stop: str = "max_tokens") -> list[Json]:
    whole = events(answer(said("Writing."), use("t", "write", path="a"), stop=stop), ping=False)
    start = next(i for i, each in enumerate(whole) if each.get("index") == 1)
    delta = {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": text},
    }
    return [*whole[: start + 1], delta, *whole[-3:]]


@pytest.mark.parametrize("text", ['{"path": "a', '{"path": "a"}', "", '{"path"'])
@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded"])
def test_a_bound_of_tokens_inside_a_call_is_no_turn_even_if_its_input_parses(text: str, stop: str):
    stream = play(cut_call(text, stop))
    assert stream.is_complete
    with pytest.raises(TruncatedTurnError, match="inside the call of 'write'; nothing was called or kept"):
        stream.turn()


def test_a_bound_of_tokens_inside_text_is_a_turn_that_says_so():
    turn = play(events(answer(said("It goes on and"), stop="max_tokens"))).turn()
    assert turn.stop == "max-tokens"
    assert turn.content[0].wire == {"type": "text", "text": "It goes on and"}


def test_a_bound_of_tokens_inside_thinking_is_no_turn():
    right = events(answer(thought("I wonder"), stop="max_tokens"))
    unsigned = [each for each in right if each.get("delta", {}).get("type") != "signature_delta"]
    with pytest.raises(TruncatedTurnError, match="inside thinking"):
        play(unsigned).turn()


def test_input_that_is_no_json_object_when_its_block_has_ended_is_no_call():
    for text in ('{"path": "a', "[1]", "NaN", '{"n": NaN}', "12"):
        with pytest.raises(StreamError, match="the input of the call of 'write' is no JSON object"):
            play(cut_call(text, "tool_use")).turn()


def test_input_that_came_whole_with_the_start_of_its_block_is_an_object_too():
    whole = events(answer(use("t", "write")), ping=False)
    for wrong in ("{}", [1], None, 3):
        begun = {**whole[1], "content_block": {**whole[1]["content_block"], "input": wrong}}
        with pytest.raises(StreamError, match="the input of the call of 'write' is no JSON object"):
            play([whole[0], begun, *whole[3:]]).turn()
    begun = {**whole[1], "content_block": {**whole[1]["content_block"], "input": {"path": "a"}}}
    assert play([whole[0], begun, *whole[3:]]).turn().calls[0].input == {"path": "a"}


def test_a_refusal_inside_a_call_is_not_asked_for_again():
    with pytest.raises(StreamError, match="refused inside the call of 'write'; nothing was called") as caught:
        play(cut_call('{"path": "a', "refusal"))
    assert not caught.value.retryable
    theirs = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    with pytest.raises(StreamError, match="refused inside the call of 'web_search'"):
        play(events(answer(said("x"), theirs, stop="refusal")))
    ours = play(events(answer(use("t"), said("No."), stop="refusal"))).turn()
    assert (ours.stop, [call.id for call in ours.calls]) == ("refusal", ["t"])


@pytest.mark.parametrize(
    "last",
    [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
        {"type": "mcp_tool_use", "id": "m", "name": "look", "server_name": "s", "input": {}},
        thought(),
        redacted(),
    ],
)
def test_a_bound_of_tokens_after_what_has_to_be_followed_by_something_is_no_turn(last: Json):
    """A call of the provider's own without its result, or thinking at the end, is refused when it comes back."""
    with pytest.raises(TruncatedTurnError, match="nothing was called or kept"):
        play(events(answer(said("Well."), last, stop="max_tokens"))).turn()
    assert play(events(answer(said("Well."), last, stop="pause_turn"))).turn().stop == "pause"


def test_thinking_without_its_signature_is_incomplete_and_says_so():
    right = events(answer(thought(), use("t")))
    unsigned = [each for each in right if each.get("delta", {}).get("type") != "signature_delta"]
    with pytest.raises(IncompleteStateError) as caught:
        play(unsigned).turn()
    assert caught.value.missing == ("content[0] thinking.signature",)


def test_a_delta_that_cannot_be_applied_is_incomplete_and_not_dropped_silently():
    right = events(answer(said("Hello")))
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "sound_delta", "sound": "=="}}
    with pytest.raises(IncompleteStateError, match="'sound_delta' says, which this version cannot apply"):
        play([*right[:3], delta, *right[3:]]).turn()
