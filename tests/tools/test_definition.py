"""What a tool may be, and what is refused when it is made or registered."""

import dataclasses
import datetime
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict, Union

import msgspec
import pytest

from codemode import (
    Output,
    Registry,
    Tool,
    ToolArgumentsError,
    ToolDefinitionError,
    ToolOutputError,
    as_json,
    as_text,
    text,
    tool,
)
from codemode.schemas import RawOutput, RawParameters, TypedOutput, TypedParameters


@tool(render=as_json)
def search(pattern: str, limit: int = 10, *, kinds: list[Literal["file", "dir"]] | None = None) -> list[str]:
    """Search for names.

    A longer description.
    """
    return [pattern] * limit


def refusal(make):
    with pytest.raises(ToolDefinitionError) as caught:
        make()
    return str(caught.value)


def test_a_function_becomes_a_tool_with_its_signature_as_schema():
    assert search.name == "search"
    assert search.description == "Search for names.\n\nA longer description."
    assert search.parameters.names == ("pattern", "limit", "kinds")
    assert search.signature == (
        "search(pattern: str, limit: int = 10, *, kinds: list[Literal['file', 'dir']] | None = None)"
    )
    assert search.parameters.json_schema == {
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "limit": {"type": "integer", "default": 10},
            "kinds": {
                "anyOf": [{"type": "array", "items": {"enum": ["dir", "file"]}}, {"type": "null"}],
                "default": None,
            },
        },
        "required": ["pattern"],
        "additionalProperties": False,
    }
    assert search.output.schema.json_schema == {"type": "array", "items": {"type": "string"}}


def test_a_schema_that_is_handed_out_is_a_copy():
    search.parameters.json_schema["properties"].clear()
    assert set(search.parameters.json_schema["properties"]) == {"pattern", "limit", "kinds"}


def no_return(path: str):
    """No return annotation."""


def no_annotation(path) -> str:
    return path


def with_args(*paths: str) -> str:
    return ""


def with_kwargs(**options: str) -> str:
    return ""


def bad_type(path: object) -> str:
    return ""


def bad_output(path: str) -> type:
    return str


def unresolvable(path: "Nowhere") -> str:  # noqa: F821
    return ""


def bad_key(path: str) -> dict[int, str]:
    return {}


def bad_default(n: int = "one") -> str:
    return ""


def none_default(n: int = None) -> str:  # noqa: RUF013
    return ""


def good(path: str) -> str:
    return path


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: tool(render=as_text)(no_return), "tool 'no_return': it has no return annotation; write ->"),
        (lambda: tool(good), "tool 'good': it has no render; write @tool(render=as_text)"),
        (lambda: tool(render="text")(good), "tool 'good': output has no render"),
        (lambda: tool(render=as_text)(no_annotation), "parameter 'path' has no type annotation"),
        (lambda: tool(render=as_text)(with_args), "parameter *paths: str cannot be described to a model"),
        (
            lambda: tool(render=as_text)(with_kwargs),
            "parameter **options: str cannot be described to a model",
        ),
        (
            lambda: tool(render=as_text)(bad_type),
            "its parameters cannot be described as JSON: type <class 'object'>",
        ),
        (lambda: tool(render=as_text)(bad_output), "its return annotation cannot be described as JSON"),
        (lambda: tool(render=as_text)(unresolvable), "its annotations cannot be resolved: name 'Nowhere'"),
        (
            lambda: tool(render=as_text, timeout=0)(good),
            "timeout=0 must be a positive, finite number of seconds",
        ),
        (lambda: tool(render=as_text, timeout=float("nan"))(good), "timeout=nan must be"),
        (
            lambda: tool(render=as_text, approval=True)(good),
            "approval=True must be the reason to ask, as text",
        ),
        (lambda: tool(render=as_text, approval=" ")(good), "approval=' ' must be the reason to ask"),
        (lambda: tool(render=as_text)(bad_key), "its return annotation has dict keys of type int"),
        (lambda: tool(render=as_text)(bad_default), "parameter 'n' has a default that does not fit its type"),
        (lambda: tool(render=as_text)(none_default), "write n: … | None"),
        (lambda: tool(render=as_text, name=" ")(good), "a tool needs a name"),
        (lambda: tool(render=as_text, name="a\nb")(good), "a name is at most 256 printable characters"),
        (
            lambda: Tool("x", "", {}, None, good),
            "tool 'x': it declares no output; give output=Output(schema, render)",
        ),
        (lambda: Tool("x", "", {}, Output({}, as_json), None), "tool 'x': it has no body"),
        (lambda: Output({}, None), "output has no render"),
        (lambda: Output(None, as_json), "output schema is missing; declare a JSON Schema object"),
        (lambda: Output({"type": "objekt"}, as_json), 'output.type cannot be enforced: "objekt"'),
        (
            lambda: Output({"requierd": ["a"]}, as_json),
            "output.requierd is no keyword of JSON Schema and would not be enforced; did you mean 'required'?",
        ),
        (
            lambda: Output({"properties": {"a": {"anyOf": [{"mxLength": 3}]}}}, as_json),
            "output.properties.a.anyOf[0].mxLength is no keyword",
        ),
        (
            lambda: Output({"$ref": "https://example.org/schema"}, as_json),
            "output cannot be enforced: Resource",
        ),
        (lambda: Output({"$ref": "#/$defs/nothing"}, as_json), "output cannot be enforced: Pointer"),
        (lambda: Output({"type": "string", "pattern": "["}, as_json), "output.pattern cannot be enforced"),
        (
            lambda: Output({"type": "string", "format": "shoe-size"}, as_json),
            "output.format cannot be enforced",
        ),
        (lambda: Output({"enum": [float("nan")]}, as_json), "schema is no JSON: output.enum[0]: nan"),
        (
            lambda: Tool("x", "", {"type": "array"}, Output({}, as_json), good),
            "tool 'x': parameters.type is 'array'; the arguments of a call are an object",
        ),
    ],
)
def test_a_wrong_tool_is_refused_with_what_is_missing(make, says):
    assert says in refusal(make)


def test_a_registry_refuses_doubles_the_reserved_name_and_what_is_no_tool():
    registry = Registry([search])
    again = tool(render=as_json, name="search")(good)
    assert "tool 'search' is registered already" in refusal(lambda: registry.register(again))
    reserved = tool(render=as_json, name="run_code")(good)
    assert "tool 'run_code': this name is taken" in refusal(lambda: registry.register(reserved))
    assert "decorate the function with @tool(render=…)" in refusal(lambda: registry.register(good))
    assert [each.name for each in registry] == ["search"]


def test_names_that_are_the_same_to_a_reader_are_the_same():
    registry = Registry([tool(render=as_json, name="ﬁnd")(good)])
    assert registry.get("find") is not None
    with pytest.raises(ToolDefinitionError, match="registered already"):
        registry.register(tool(render=as_json, name="find")(good))


def test_registering_returns_the_way_to_remove():
    registry = Registry()
    remove = registry.register(search)
    assert "search" in registry
    remove()
    remove()
    assert "search" not in registry
    registry.register(search)
    assert len(registry) == 1


def test_an_unknown_name_gets_the_nearest_ones():
    registry = Registry([search])
    with pytest.raises(Exception, match=r"unknown tool 'serch'; did you mean 'search'\?"):
        registry.require("serch")
    with pytest.raises(Exception, match="unknown tool 'x'; there are: search"):
        registry.require("x")
    with pytest.raises(Exception, match="no tools are registered"):
        Registry().require("x")


class Row(msgspec.Struct):
    name: str
    count: Annotated[int, msgspec.Meta(ge=0)] = 0


@dataclasses.dataclass
class Stamp:
    when: datetime.datetime
    note: Any = None


class Options(TypedDict):
    depth: int
    follow: NotRequired[bool]


def typed(rows: list[Row], options: Options, flag: bool = False) -> None:
    pass


def test_typed_arguments_become_what_the_annotations_say():
    parameters = TypedParameters(typed)
    accepted = parameters.accept({"rows": [{"name": "a", "count": 2}], "options": {"depth": 1}})
    assert accepted == {"rows": [Row("a", 2)], "options": {"depth": 1}, "flag": False}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"rows": [], "options": {"depth": "1"}}, "expected int, got str at options.depth"),
        (
            {"rows": [{"name": "a", "count": -1}], "options": {"depth": 1}},
            "expected int >= 0 at rows[0].count",
        ),
        ({"options": {"depth": 1}}, "object missing required field rows"),
        (
            {"rows": [], "options": {"depth": 1}, "flags": True},
            "there is no parameter 'flags'; did you mean 'flag'?",
        ),
        ({"rows": [], "options": {"depth": 1}, "flag": 1}, "expected bool, got int at flag"),
        ({"rows": [], "options": {"depth": True}}, "expected int, got bool at options.depth"),
    ],
)
def test_wrong_typed_arguments_name_the_place(arguments, says):
    with pytest.raises(ToolArgumentsError) as caught:
        TypedParameters(typed).accept(arguments)
    assert str(caught.value) == says


def annotated(path: "Annotated[str, msgspec.Meta(min_length=1)]", kind: "Literal['a']" = "a") -> None:
    pass


def test_a_signature_shows_what_annotations_mean_not_how_they_are_written():
    assert TypedParameters(annotated).signature == "(path: str, kind: Literal['a'] = 'a')"


def awkward(self: str, name: str, call: str, args: list[int], p0: int, _hidden: int = 0) -> None:
    pass


def test_parameters_may_have_any_name():
    accepted = TypedParameters(awkward).accept(
        {"self": "s", "name": "n", "call": "c", "args": [1], "p0": 5, "_hidden": 2}
    )
    assert accepted == {"self": "s", "name": "n", "call": "c", "args": [1], "p0": 5, "_hidden": 2}


@pytest.mark.parametrize(
    ("annotation", "returned", "value"),
    [
        (list[Row], [Row("a", 1)], [{"name": "a", "count": 1}]),
        (Stamp, Stamp(datetime.datetime(2024, 1, 2)), {"when": "2024-01-02T00:00:00", "note": None}),
        (Options, {"depth": 1}, {"depth": 1}),
        (dict[str, Any], {"a": (1, 2)}, {"a": [1, 2]}),
        (tuple[int, str], (1, "a"), [1, "a"]),
        (set[int], {1}, [1]),
        (None, None, None),
        (Any, [1, {"a": None}], [1, {"a": None}]),
        (float, 1, 1),
        (int | str | None, None, None),
    ],
)
def test_a_typed_value_becomes_json(annotation, returned, value):
    assert TypedOutput(annotation).accept(returned) == value


@pytest.mark.parametrize(
    ("annotation", "returned", "says"),
    [
        (int, "1", "expected int, got str"),
        (list[Row], [Row("a", -1)], "expected int >= 0 at [0].count"),
        (Options, {"follow": True}, "object missing required field depth"),
        (Any, {"a": b"x"}, "value.a: bytes is not a JSON value"),
        (dict[str, Any], {"a": {1}}, "value.a: set is not a JSON value; use sorted(x) or list(x)"),
        (Stamp, Stamp(datetime.datetime(2024, 1, 2), note=b"x"), "value.note: bytes is not a JSON value"),
        (Stamp, Stamp(datetime.datetime(2024, 1, 2), note={1}), "value holds a set"),
        (float, float("nan"), "value: nan is not a JSON number"),
        (None, 1, "expected null, got int"),
    ],
)
def test_a_value_that_is_not_as_declared_is_refused(annotation, returned, says):
    with pytest.raises(ToolOutputError) as caught:
        TypedOutput(annotation).accept(returned)
    assert says in str(caught.value)


def test_raw_schemas_are_enforced_with_the_place():
    parameters = RawParameters(
        {
            "type": "object",
            "properties": {"from": {"type": "string", "format": "date"}, "n": {"type": ["integer", "null"]}},
            "required": ["from"],
            "x-note": "kept",
        }
    )
    assert parameters.names == ("from", "n")
    assert parameters.signature == "(from: str, n: int | None = …)"
    assert parameters.accept({"from": "2024-01-02", "n": 2**80}) == {"from": "2024-01-02", "n": 2**80}
    with pytest.raises(ToolArgumentsError, match='"from" is a required property; n: 1.5 is not of types'):
        parameters.accept({"n": 1.5})
    with pytest.raises(ToolArgumentsError, match='from: "soon" is not a "date"'):
        parameters.accept({"from": "soon"})
    output = RawOutput({"type": "array", "items": {"type": "integer"}})
    with pytest.raises(ToolOutputError, match=r'value\[1\]: "x" is not of type "integer"'):
        output.accept([1, "x"])
    assert RawOutput({}).accept([1, "x"]) == [1, "x"]


def test_only_exactly_true_lets_calls_overlap():
    def tool_with(parallel):
        return tool(render=as_json, name="t", parallel=parallel)(good)

    def failing(arguments):
        raise ValueError

    assert tool_with(True).may_overlap({}) is True
    for parallel in (False, 1, "yes", None, lambda arguments: 1, failing):
        assert tool_with(parallel).may_overlap({}) is False
    by_arguments = tool_with(lambda arguments: arguments["path"] == "a")
    assert by_arguments.may_overlap({"path": "a"}) is True
    assert by_arguments.may_overlap({"path": "b"}) is False


def test_stock_renders_show_text_and_json():
    assert as_text({}, "plain") == (text("plain"),)
    assert as_text({}, {"a": 1}) == (text('{\n  "a": 1\n}'),)
    assert as_json({}, "plain") == (text('"plain"'),)


class Box(TypedDict):
    size: int


def test_a_signature_names_types_without_their_modules():
    @tool(render=as_json)
    def pack(boxes: list[Box], how: Literal["a.b", "it's"] = "a.b", where: str | None = "x.y") -> None: ...

    assert pack.signature == (
        """pack(boxes: list[Box], how: Literal['a.b', "it's"] = 'a.b', where: str | None = 'x.y')"""
    )


def test_a_signature_has_unions_as_python_writes_them():
    @tool(render=as_json)
    def pack(
        a: Annotated[int, msgspec.Meta(ge=1)] | None = None,
        b: Optional[list[Optional[str]]] = None,  # noqa: UP045
        c: Union[int, str, None] = None,  # noqa: UP007
        d: dict[str, tuple[int, ...]] | None = None,
        e: Literal["x", None] = None,
        f: list[Box | None] | None = None,
    ) -> None: ...

    assert pack.signature == (
        "pack(a: int | None = None, b: list[str | None] | None = None, c: int | str | None = None, "
        "d: dict[str, tuple[int, ...]] | None = None, e: Literal['x', None] = None, "
        "f: list[Box | None] | None = None)"
    )


class Crate(TypedDict):
    kind: Literal["wood", "tin"]
    boxes: NotRequired[dict[str, Literal["big", "small"]]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"how": "no"}, """invalid enum value 'no' at how; it is one of "fast", "slow\""""),
        (
            {"crates": [{"kind": "oak"}]},
            """invalid enum value 'oak' at crates[0].kind; it is one of "tin", "wood\"""",
        ),
        (
            {"crates": [{"kind": "tin", "boxes": {"a": "odd"}}]},
            """invalid enum value 'odd' at crates[0].boxes[...]; it is one of "big", "small\"""",
        ),
        ({"one": {"kind": "oak"}}, """invalid enum value 'oak' at one.kind; it is one of "tin", "wood\""""),
        ({"number": 7}, "invalid enum value 7 at number; it is one of 1, 2"),
    ],
)
def test_a_wrong_choice_is_told_what_there_is_to_choose(arguments, message):
    @tool(render=as_json)
    def ship(
        how: Annotated[Literal["slow", "fast"], msgspec.Meta(description="how")] = "slow",
        crates: list[Crate] | None = None,
        one: Crate | None = None,
        number: Literal[1, 2] | None = None,
    ) -> None: ...

    with pytest.raises(ToolArgumentsError) as caught:
        ship.parameters.accept(arguments)
    assert str(caught.value) == message


def test_a_tool_may_be_a_method_of_an_object_beside_the_others():
    named = tool(render=as_json, name="agent", method="agents.run")(good)
    assert named.signature.startswith("agents.run(path: str")
    assert named.describe()["name"] == "agent"
    for method in (
        "run",
        "a.b.c",
        "a.",
        ".b",
        "a-b.c",
        "_a.b",
        "a.__b",
        "for.x",
        "größe.x",
        "tools.x",
        "list.append",
        3,
        "",
    ):
        with pytest.raises(ToolDefinitionError, match="tool 'agent': method="):
            tool(render=as_json, name="agent", method=method)(good)
