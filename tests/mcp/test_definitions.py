"""Names, schemas and annotations of a server's tools."""

import contextlib
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode import ToolArgumentsError, ToolDefinitionError, ToolOutputError
from codemode.mcp.client.config import ServerConfig, Stdio
from codemode.mcp.client.definitions import make_tool, tool_names
from codemode.sdk import signatures
from codemode.sdk.bindings import binding


def made(listed, **options):
    config = ServerConfig(name="s", transport=Stdio(command="c"), prefix="s", **options)

    async def execute(arguments, call):
        return None

    return make_tool(config, "s_t", {"name": "t", "inputSchema": {"type": "object"}, **listed}, execute)


def test_names_are_identifiers_and_those_that_would_collide_keep_their_spelling():
    assert tool_names("s", ["get-issue", "list.all", "ok"]) == {
        "get-issue": "s_get_issue",
        "list.all": "s_list_all",
        "ok": "s_ok",
    }
    assert tool_names("", ["a-b", "a.b", "c-d"]) == {"a-b": "a-b", "a.b": "a.b", "c-d": "c_d"}
    assert tool_names("s", ["a-b", "a_b", "class", "3d"]) == {
        "a-b": "s_a-b",
        "a_b": "s_a_b",
        "class": "s_class",
        "3d": "s_3d",
    }


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(["", "s"]), st.lists(st.text(st.sampled_from("ab-._"), min_size=1), unique=True))
def test_no_two_tools_of_a_server_get_one_name(prefix, raw):
    names = tool_names(prefix, raw)
    assert set(names) == set(raw)
    assert len(set(names.values())) == len(raw)


def with_n(n, **more):
    return {"type": "object", "properties": {"n": n, **more.pop("beside", {})}, "required": ["n"], **more}


NUMBER = {"type": "integer"}


@pytest.mark.parametrize(
    "schema",
    [
        with_n({"$ref": "#/$defs/N"}, **{"$defs": {"N": NUMBER}}),
        with_n({"$ref": "#/definitions/N"}, definitions={"N": NUMBER}),
        with_n(NUMBER, beside={"m": {"$ref": "#/properties/n"}}),
        with_n(NUMBER, beside={"next": {"$ref": "#"}}),
        with_n(NUMBER, **{"$schema": "http://json-schema.org/draft-07/schema#"}),
        with_n({"$ref": "#/$defs/N"}, **{"$id": "urn:x", "$defs": {"N": NUMBER}}),
        with_n({**NUMBER, "format": "uint32", "markdownDescription": "x"}),
    ],
)
def test_an_output_schema_is_enforced_inside_the_envelope(schema):
    output = made({"outputSchema": schema}).output.schema
    good = {"content": [], "structuredContent": {"n": 1}}
    assert output.accept(good) == good
    for wrong in (
        {"content": []},
        {"content": [], "structuredContent": {"n": "x"}},
        {"content": [], "structuredContent": {}},
    ):
        with pytest.raises(ToolOutputError):
            output.accept(wrong)
    if "next" in schema["properties"]:
        with pytest.raises(ToolOutputError, match=r"structuredContent\.next\.n"):
            output.accept({"content": [], "structuredContent": {"n": 1, "next": {"n": "x"}}})


def test_an_output_schema_that_cannot_be_enforced_counts_as_any_json():
    for schema in ({"type": "object", "properties": {"a": {"type": 5}}}, {"$ref": "http://127.0.0.1:1/x"}):
        output = made({"outputSchema": schema}).output.schema
        assert output.accept({"content": []}) == {"content": []}
        assert output.accept({"content": [], "structuredContent": 5}) == {
            "content": [],
            "structuredContent": 5,
        }


def test_parameters_are_shown_as_they_are_listed_and_checked_as_far_as_they_can_be():
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "format": "uint8", "x-y": 1, "nullable": True}},
    }
    parameters = made({"inputSchema": schema}).parameters
    assert parameters.json_schema == schema
    assert parameters.names == ("n",)
    assert parameters.accept({"n": 300}) == {"n": 300}
    with pytest.raises(ToolArgumentsError, match="n: "):
        parameters.accept({"n": "x"})
    remote = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/x"}}}
    unchecked = made({"inputSchema": remote}).parameters
    assert unchecked.json_schema == remote
    assert unchecked.accept({"a": 1, "b": 2}) == {"a": 1, "b": 2}
    assert unchecked.signature == "(a: Any)"


KEYS = st.sampled_from(
    "type properties required items enum $ref $schema $id anyOf allOf const $defs additionalProperties "
    "patternProperties description format pattern weird".split()
)
JUNK = st.recursive(
    st.sampled_from([None, True, 0, 1.5, "", "object", "#", "#/$defs/a", "http://127.0.0.1:1/x", "((("]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.sampled_from("ab"), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(deadline=None, max_examples=150)
@given(st.dictionaries(KEYS, JUNK, max_size=5), JUNK)
def test_whatever_a_server_lists_is_a_tool_that_works_or_is_refused(parameters, output):
    try:
        tool = made({"inputSchema": {**parameters, "type": "object"}, "outputSchema": output})
    except ToolDefinitionError:
        return
    binding(tool)
    assert "s_t" in signatures([tool])
    assert tool.signature.startswith("s_t(")
    with contextlib.suppress(ToolArgumentsError):
        assert tool.parameters.accept({"a": 1}) == {"a": 1}
    with contextlib.suppress(ToolOutputError):
        tool.output.schema.accept({"content": [], "structuredContent": 1})


def test_nobody_is_asked_for_a_schema_that_is_elsewhere():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/x"
        for key in ("$schema", "$ref", "$id"):
            for schema in (
                {"type": "object", key: url},
                {"type": "object", "properties": {"a": {key: url, "type": "integer"}}},
                {"type": "object", "properties": {"a": {key: url}}, "required": 5},
            ):
                made({"inputSchema": schema, "outputSchema": schema})
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.mark.parametrize("schema", [5, "object", [], {"type": "array"}])
def test_parameters_that_are_no_object_are_refused(schema):
    with pytest.raises(ToolDefinitionError):
        made({"inputSchema": schema})


def test_a_description_is_taken_where_there_is_one_and_bounded():
    assert made({"description": "d", "title": "t"}).description == "d"
    assert made({"title": "t"}).description == "t"
    assert made({"annotations": {"title": "a"}}).description == "a"
    assert len(made({"description": "x" * 100_000}).description) <= 16 * 1024


@pytest.mark.parametrize(
    ("annotations", "approval", "asks"),
    [
        (None, "destructive", False),
        ({}, "destructive", False),
        ({"destructiveHint": True}, "destructive", True),
        ({"destructiveHint": True, "readOnlyHint": True}, "destructive", False),
        ({"destructiveHint": "yes"}, "destructive", False),
        ({"destructiveHint": True}, "never", False),
        ({"readOnlyHint": True}, "always", True),
        ("junk", "destructive", False),
    ],
)
def test_annotations_say_what_needs_approval(annotations, approval, asks):
    tool = made({"annotations": annotations}, approval=approval)
    assert (tool.reason_to_ask({}) is not None) is asks
    assert tool.read_only is (isinstance(annotations, dict) and annotations.get("readOnlyHint") is True)


def test_a_tool_that_the_user_approved_beforehand_is_not_asked_about():
    tool = made({"annotations": {"destructiveHint": True}}, approved=frozenset({"t"}))
    assert tool.reason_to_ask({}) is None
