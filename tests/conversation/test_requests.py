"""What goes back to a model: its own turns as they came, whole exchanges, and nothing that a provider refuses."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from codemode.conversation import (
    AssistantTurn,
    Turn,
    UserTurn,
    exchanges,
    image,
    prune,
    text,
    tool_result,
)
from codemode.conversation.anthropic_wire import request_body
from codemode.conversation.blocks import Text, Thinking, user_block
from codemode.errors import AlteredTurnError, ConversationError, IncompleteStateError
from codemode.values import freeze
from tests.conversation.scripts import Json, redacted, said, thought, use
from tests.conversation.support import (
    TWO,
    asked,
    received,
    request,
    results,
    sent,
)

THINKING = received(thought("first I look"), redacted(), said("Let me look."), use("t", item="fig"))


def test_thinking_goes_back_byte_for_byte_in_its_place_with_every_field_that_came():
    odd = thought("a — b", "sig/+==", x_new={"keep": [1, 2.0, -0.0, 10**25]})
    turn = received(said("Well."), odd, redacted(x="y"), use("t"))
    body = sent([asked(), turn, results("t"), received(said("3.")), asked("And now?")])
    assert json.dumps(body[1]["content"]) == json.dumps([said("Well."), odd, redacted(x="y"), use("t")])


@pytest.mark.parametrize(
    "touch",
    [
        lambda content: content[1:],  # dropped to save tokens
        lambda content: (content[1], content[0], *content[2:]),  # moved
        lambda content: (
            Thinking(freeze({**content[0].wire, "thinking": "I look"})),
            *content[1:],
        ),  # shortened
        lambda content: (Thinking(freeze({**content[0].wire, "signature": "new"})), *content[1:]),
        lambda content: (content[0], *content[2:]),  # redacted: nobody can read it anyway
        lambda content: (*content[:1], type(content[1])(freeze(redacted("other"))), *content[2:]),
        lambda content: (*content[:2], Text(freeze(said("Summary."))), content[3]),
    ],
)
def test_touching_a_turn_of_the_model_is_an_error_here(touch: Any):
    touched = msgspec.structs.replace(THINKING, content=tuple(touch(THINKING.content)))
    with pytest.raises(AlteredTurnError, match="turn 1 is not what the model sent"):
        request([asked(), touched, results("t")])
    assert request([asked(), THINKING, results("t")]).turns[1] is THINKING


def test_a_turn_cannot_be_changed_in_place():
    with pytest.raises(AttributeError):
        THINKING.content = ()  # type: ignore[misc]
    with pytest.raises(TypeError, match="cannot be changed"):
        THINKING.content[0].wire["thinking"] = "shorter"


def test_context_is_saved_by_leaving_out_whole_exchanges():
    turns = [
        asked("1"),
        TWO,
        results("toolu_01", "toolu_02"),
        received(said("a")),
        asked("2"),
        THINKING,
        results("t"),
    ]
    assert [len(each) for each in exchanges(turns)] == [4, 3]
    assert prune(turns, 1) == turns[4:]
    assert prune(turns, 2) == prune(turns, 99) == turns
    assert request(prune(turns, 1)).turns[1] is THINKING
    with pytest.raises(ValueError, match="at least the exchange that goes on"):
        prune(turns, 0)


# ------------------------------------------------------------------------------- what no request is built of


@pytest.mark.parametrize(
    ("turns", "error", "message"),
    [
        ([], IncompleteStateError, "missing: a user turn to answer"),
        (
            [received(said("Hi"))],
            IncompleteStateError,
            "the user turn that the first turn of the model answers",
        ),
        ([asked(), received(said("3"))], IncompleteStateError, "a user turn after turn 1"),
        ([asked(), asked()], ConversationError, "turn 0 and turn 1 are both the user's"),
        ([asked(), received(said("1")), received(said("2")), asked()], ConversationError, "both the model's"),
        ([UserTurn((text(""),))], ConversationError, "an empty text"),
        ([UserTurn((text(" \n"),))], ConversationError, "an empty text"),
        (
            [
                asked(),
                AssistantTurn(provider="openai", content=TWO.content[:1], stop="end", envelope={}),
                asked(),
            ],
            ConversationError,
            "turn 1 was received from 'openai' and cannot be sent to 'anthropic'",
        ),
    ],
)
def test_what_a_provider_would_refuse_is_refused_here(
    turns: list[Turn], error: type[Exception], message: str
):
    with pytest.raises(error, match=message):
        request(turns)


def test_a_paused_turn_is_sent_back_for_the_provider_to_go_on_with():
    paused = received(said("Searching…"), stop="pause_turn")
    assert [m["role"] for m in sent([asked(), paused])] == ["user", "assistant"]
    assert request([asked(), paused, received(said("done"), use("t")), results("t")])


def test_a_turn_without_content_is_passed_over():
    assert len(sent([asked(), TWO, results("toolu_01", "toolu_02"), received()])) == 3


@pytest.mark.parametrize(
    "silent", [[thought()], [redacted(), said("")], [said(" \n")], [thought(), said("\n\n")]]
)
def test_a_turn_that_says_nothing_is_kept_and_passed_over_whole(silent: list[Json]):
    """The API sends such turns, and refuses every later request in which one comes back."""
    turn = received(*silent)
    assert [dict(block.wire) for block in turn.content] == silent
    assert sent([asked("1"), turn, asked("2")]) == [{"role": "user", "content": [said("1"), said("2")]}]
    with pytest.raises(IncompleteStateError, match="which the model has finished"):
        request([asked("1"), turn])
    paused = received(*silent, stop="pause_turn")
    assert len(sent([asked("1"), paused])) == 2


def test_blank_text_is_kept_and_does_not_come_back():
    content = [thought(), said(""), said("Checking."), said("\n"), use("t")]
    turn = received(*content)
    assert [dict(block.wire) for block in turn.content] == content
    assert sent([asked(), turn, results("t")])[1]["content"] == [thought(), said("Checking."), use("t")]


def test_a_result_goes_as_the_api_takes_it():
    turn = received(use("a"), use("b"), use("c"))
    picture: Json = dict(image("aGk=", "image/png").wire)
    given = [
        tool_result("a", [said(" "), picture]),
        tool_result("b", [said("no"), picture], is_error=True),
        tool_result("c", [picture], is_error=True),
    ]
    content = [each["content"] for each in sent([asked(), turn, UserTurn(tuple(given))])[2]["content"]]
    assert content == [
        [picture],
        [said("no")],
        [said("Error: the call failed, and there is no text about it")],
    ]


def test_tools_of_the_provider_stand_beside_ours():
    ours = {"name": "stock", "description": "How many.", "input_schema": {"type": "object"}}
    theirs = {"type": "web_search_20250305", "name": "web_search"}
    body: Any = request_body(request([asked()], tools=[ours], options={"tools": [theirs], "temperature": 0}))
    assert body["tools"] == [ours, theirs]
    assert body["temperature"] == 0


def test_images_and_documents_are_input_as_they_are_given():
    document = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "x"},
        "title": "a",
    }
    tomorrow = {"type": "hologram", "source": {"type": "url", "url": "x"}}
    turn = UserTurn((user_block(document), user_block(tomorrow)))
    assert sent([turn])[0]["content"] == [document, tomorrow]
    for wrong in ("text", {"no": "type"}, [1]):
        with pytest.raises(ValueError, match="a block is a JSON object"):
            user_block(wrong)
