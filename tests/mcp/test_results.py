"""What is shown of a server's answer."""

import pytest

from codemode import Image, Text, ToolError
from codemode.mcp.client.results import render_protocol, render_unwrapped, value_of

PICTURE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}

BLOB = {"uri": "u:x", "blob": "aGk="}


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        ({"type": "text", "text": "a"}, Text("a")),
        (PICTURE, Image("aGk=", "image/png")),
        ({**PICTURE, "mimeType": "image/tiff"}, Text("[an image, image/tiff, cannot be shown; programs get its data]")),
        ({**PICTURE, "data": "%%"}, Text("[an image, image/png, whose data is no base64]")),
        ({**PICTURE, "data": 5}, Text("[an image, image/png, whose data is no base64]")),
        ({"type": "image"}, Text("[an image, of unknown type, cannot be shown; programs get its data]")),
        ({"type": "audio", "data": "", "mimeType": "audio/wav"}, Text("[audio, audio/wav; programs get its data]")),
        ({"type": "resource_link", "name": "n", "uri": "u:x"}, Text("Resource: n (u:x)")),
        ({"type": "resource_link"}, Text("[a link to a resource without its name]")),
        ({"type": "resource", "resource": {"uri": "u:x", "text": "t"}}, Text("Resource u:x:\nt")),
        ({"type": "resource", "resource": {**BLOB, "mimeType": "image/gif"}}, Image("aGk=", "image/gif")),
        ({"type": "resource", "resource": BLOB}, Text("[resource u:x, of unknown type; programs get its data]")),
        ({"type": "resource"}, Text("[a resource without content]")),
        ({"type": 7}, Text("[a content block of type 7; programs get it as it is]")),
        (None, Text("[a content block that is no object]")),
    ],
)  # fmt: skip
def test_each_kind_of_block(block, shown):
    assert render_protocol({}, {"content": [block]}) == (shown,)


def test_texts_beside_each_other_become_one_and_order_is_kept():
    blocks = [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
        PICTURE,
        {"type": "text", "text": "c"},
    ]
    assert render_protocol({}, {"content": blocks}) == (Text("a\nb"), Image("aGk=", "image/png"), Text("c"))


def test_without_content_the_structured_content_is_shown():
    assert render_protocol({}, {"content": [], "structuredContent": {"a": 1}}) == (Text('{\n  "a": 1\n}'),)
    assert render_protocol({}, {"content": []}) == (Text("(the tool returned no content)"),)


def test_an_unwrapped_value_is_shown_as_what_it_is():
    assert render_unwrapped({}, "text") == (Text("text"),)
    assert render_unwrapped({}, [PICTURE]) == (Image("aGk=", "image/png"),)
    assert render_unwrapped({}, [1]) == (Text("[\n  1\n]"),)


def test_an_answer_of_the_oldest_protocol_has_its_result_as_text():
    assert value_of({"toolResult": {"a": 1}}, "unwrapped") == {"a": 1}
    assert value_of({}, "protocol") == {"content": []}


def test_an_error_shows_its_text_within_bounds_and_no_picture():
    with pytest.raises(ToolError) as caught:
        value_of({"content": [{"type": "text", "text": "no"}, PICTURE], "isError": True}, "protocol")
    assert str(caught.value) == "no\n[image image/png]"
    with pytest.raises(ToolError, match="not why"):
        value_of({"content": [], "isError": True}, "protocol")
    with pytest.raises(ToolError) as caught:
        value_of({"content": [{"type": "text", "text": "x" * 10**6}], "isError": True}, "unwrapped")
    assert len(str(caught.value)) < 20_000
