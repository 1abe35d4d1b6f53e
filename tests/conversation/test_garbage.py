"""Whatever a provider or a file holds: a turn, or an error that says so. Never another exception."""

from __future__ import annotations

import contextlib
import copy
import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codemode.agent import History
from codemode.conversation import Incomplete, read, shown, to_message
from codemode.conversation.anthropic_stream import AnthropicStream
from codemode.conversation.openai_stream import OpenAIStream
from codemode.errors import ConversationError
from codemode.session import Event
from codemode.values import freeze
from tests.conversation.scripts import (
    JSON_VALUES,
    answer,
    events,
    item_call,
    item_reasoning,
    item_text,
    redacted,
    response,
    response_events,
    said,
    thought,
    use,
)
from tests.conversation.support import received

ANTHROPIC = events(answer(thought(), redacted(), said("x", citations=[{"a": 1}]), use("t", n=1)), 50)
OPENAI = response_events(
    response(
        item_reasoning(),
        item_text("x"),
        item_call("c", n=1),
        status="incomplete",
        incomplete_details={"reason": "max_output_tokens"},
    )
)
GARBAGE = JSON_VALUES | st.sampled_from(
    ["ab", ["ab"], [[]], {"type": []}, {"type": {}}, [{"type": "text"}], -1, True, 1e300]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of everything inside a JSON value."""
    found = [path]
    if isinstance(value, dict):
        for name in value:
            found += places(value[name], (*path, name))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            found += places(each, (*path, index))
    return found


def spoiled(data: st.DataObject, value: Any) -> Any:
    """The value with something inside it taken out, or with garbage in its place."""
    whole = [copy.deepcopy(value)]
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(places(whole)[1:]))
        inside: Any = whole
        for part in path[:-1]:
            inside = inside[part]
        if data.draw(st.booleans()) and len(path) > 1:
            del inside[path[-1]]
        else:
            inside[path[-1]] = copy.deepcopy(data.draw(GARBAGE))  # it may be spoiled in its turn
        if not isinstance(whole[0], type(value)) or not whole[0]:
            break
    return whole[0]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_spoiled_stream_is_a_turn_or_an_error_that_says_so(data: st.DataObject):
    kind, whole = data.draw(st.sampled_from([(AnthropicStream, ANTHROPIC), (OpenAIStream, OPENAI)]))
    stream: Any = kind()
    given_ = spoiled(data, whole)
    try:
        for event in given_ if isinstance(given_, list) else [given_]:
            stream.feed(event)
        turn = stream.turn()
    except ConversationError:
        return
    assert [isinstance(shown(block), str) for block in turn.content]
    assert read(json.loads(json.dumps(to_message(turn)))) == turn


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_spoiled_message_is_a_turn_or_says_what_is_missing(data: st.DataObject):
    stored = json.loads(json.dumps(to_message(received(thought(), redacted(), said("x"), use("t", n=1)))))
    message = spoiled(data, stored)
    found = read(message)
    if isinstance(found, Incomplete):
        assert found.missing


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_history_takes_whatever_a_log_may_hold(data: st.DataObject):
    message = {
        "role": "user",
        "callId": "t",
        "content": [said("x"), {"type": "image", "source": {"type": "url"}}],
    }
    answer_ = json.loads(json.dumps(to_message(received(said("x"), use("t", n=1)))))
    log = [("user/message", {"message": message}), ("assistant/message", {"message": answer_})]
    history = History()
    for seq, (kind, whole) in enumerate([*log, *log]):
        found = spoiled(data, whole["message"])
        if isinstance(found, dict):  # as the session itself checks
            history.see(Event(seq, 0, kind, freeze({"message": found})))
    with contextlib.suppress(ConversationError):
        history.turns()
    assert [call.id for call, _ in history.open_calls()] in ([], ["t"])
