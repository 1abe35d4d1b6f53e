"""The text of signatures: Python that can be parsed, checked and called, whatever the tools are like."""

from __future__ import annotations

import ast
import random
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from codemode import CodeMode, Output, Tool, ToolArgumentsError, ToolDefinitionError, as_json
from codemode.sdk.signatures import document, signatures
from codemode.values import freeze
from tests.sdk import toolsets
from tests.sdk.checkers import complaints
from tests.sdk.toolsets import raw

EXPECTED = Path(__file__).with_name("signatures.expected")


def function(text: str, name: str) -> str:
    """The first line of one function of the text."""
    return next(line for line in text.splitlines() if f"def {name}(" in line)


def test_a_function_becomes_its_signature_with_types_defaults_and_docstring() -> None:
    text = signatures([toolsets.find])
    assert function(text, "find") == (
        'async def find(pattern: str, path: str = ".", kind: Literal["dir", "file"] | None = None, '
        "limit: int = 100, ratio: float = 0.5, names: list[str] = ..., near: list[int] = ...) -> list[Place]:"
    )
    assert "class Place(TypedDict):\n    line: NotRequired[int]\n    path: str\n" in text
    assert ast.get_docstring(ast.parse(text).body[-1]) == (
        "Find files. Gives their places.\n\nThe pattern is matched against the whole path.\n"
        "pattern: a regular expression (at least 1 characters)\nlimit: >= 1, <= 1000\n"
        "near: at least 2 items, at most 2 items"
    )


SHOWN = {
    "linked": "(node: Node = ...) -> Node",
    "lists_of_itself": "() -> int | list[Any]",
    "all_of": "(x: AllOfX = ...) -> Any",
    "one_of": "(x: str | OneOfX2 | None) -> Any",
    "any_of_required": "(a: str = ..., b: str = ...) -> Any",
    "root_union": "(arguments: RootUnionArguments1 | RootUnionArguments2 = ..., /) -> Any",
    "nullable": "(x: str | None = None) -> list[float] | None",
    "patterns": "(x: dict[str, int] = ...) -> Any",
    "tuples": "(x: list[int | str] = ...) -> Any",
    "old_tuples": "(y: list[Any] = ...) -> Any",
    "closed": "(x: int = 3) -> Any",
    "more_arguments": "(x: int = ..., more: str = ..., **more_: bool) -> Any",
    "no_types": "(x: Any = ..., y: Any = ..., z: Never = ..., w: NoTypesW = ...) -> Any",
    "late_required": "(a: int = 1, *, b: str, c: int = ...) -> Any",
    "both_spellings": "(arguments: BothSpellingsArguments = ..., /) -> Any",
    "from_and_class": "(from_: str = ..., class_: int = 2, self: str = ..., tool: Any = ..., args: Any = ..., "
    "name: Any = ...) -> Any",
    "odd_fields": "(arguments: OddFieldsArguments, /) -> OddFieldsValue",
    "shared_one": "() -> Issue2",
    "shared_two": "() -> list[Issue2]",
    "same_title": "() -> Issue",
    "grow": "(branch: Branch, size: Literal[\"large\", \"small\"] = \"small\", window: Window | None = None) -> Branch | None",
    "pets": "(owner: str) -> list[Cat | Dog]",
    "table": "(rows: dict[str, list[int]], options: dict[str, int | str] = ...) -> dict[str, float]",
    "nothing": "() -> None",
    "defaults": '(a: str = "q\\"\\\\\\n", b: int = ..., c: list[Any] = ..., d: float = 1, e: bool = True, '
    'f: Literal["on", "off"] = "on", g: str = ..., h: Any = 1e+300, i: int = ...) -> Any',
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_each_feature_of_schemas_has_a_type(name: str) -> None:
    line = function(signatures(toolsets.typed()), name)
    assert line.removeprefix(f"async def {name}").removesuffix(" ...").removesuffix(":") == SHOWN[name]


def test_recursive_types_and_fields_that_are_no_names_are_classes() -> None:
    text = signatures(toolsets.typed())
    assert "class Node(TypedDict):\n    value: int\n    next: NotRequired[Node]\n" in text
    assert "RootReferenceValue = " not in text
    assert "class RootReferenceValue(TypedDict):\n    self: NotRequired[RootReferenceValue]\n    up: NotRequired[list[RootReferenceValue]]\n" in text  # fmt: skip
    assert '    "class": NotRequired[str],\n' in text
    assert '    "a-b": str,\n' in text


def test_the_text_is_the_same_on_every_python() -> None:
    tools = [*toolsets.typed(), *(raw(name) for name in toolsets.NAMES), *described()]
    assert signatures(tools) == EXPECTED.read_text("utf-8")


def described() -> list[Tool]:
    return [
        raw(f"hostile_{at}", {"x": {"type": "object", "description": text, "properties": {"a": {"description": text}}}}, description=text)
        for at, text in enumerate(toolsets.HOSTILE)
    ]  # fmt: skip


def test_the_order_of_registration_does_not_matter() -> None:
    tools = [*toolsets.typed(), *toolsets.many(50)]
    shuffled = tools[:]
    random.Random(7).shuffle(shuffled)
    assert signatures(shuffled) == signatures(tools)


def test_the_text_type_checks(tmp_path: Path) -> None:
    tools = [*toolsets.typed(), *(raw(name) for name in toolsets.NAMES), *described()]
    assert complaints(tmp_path, tools__pyi=signatures(tools)) == []


def test_a_thousand_tools_parse_check_and_share_their_classes(tmp_path: Path) -> None:
    text = signatures(toolsets.many(1000))
    tree = ast.parse(text)
    assert sum(isinstance(node, ast.AsyncFunctionDef) for node in tree.body) == 1000
    assert text.count("class Author(") == 1
    assert complaints(tmp_path, tools__pyi=text) == []


@pytest.mark.parametrize("at", range(len(toolsets.HOSTILE)))
def test_a_hostile_description_stays_inside_its_docstring(at: int) -> None:
    text = toolsets.HOSTILE[at]
    tree = ast.parse(signatures([described()[at]]))
    kinds = [type(node).__name__ for node in tree.body]
    assert kinds == ["ImportFrom", "ClassDef", "AsyncFunctionDef"]
    body = tree.body[-1].body  # type: ignore[attr-defined]
    assert len(body) == 1
    if text.strip() and text.isprintable() and len(text.split()) > 1:
        assert text in ast.literal_eval(ast.unparse(body[0].value))


def test_no_hidden_character_is_shown() -> None:
    text = signatures(described())
    hidden = {
        letter for letter in text
        if letter != "\n" and unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp", "Co", "Cs") and letter != "\u200d"
    }  # fmt: skip
    assert hidden == set()


def test_generated_schemas_give_text_that_parses_and_checks(tmp_path: Path) -> None:
    texts: dict[str, str] = {}

    @settings(
        max_examples=60,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],  # a failing schema is shown as it is; making it small would take minutes
        suppress_health_check=list(HealthCheck),
    )
    @given(parameters=toolsets.schemas(), output=toolsets.schemas(), description=toolsets.texts)
    def generate(parameters: Any, output: Any, description: str) -> None:
        made = _tool("made", parameters, output, description)
        if made is None:
            return
        text = signatures([made])
        assert text == signatures([_tool("made", parameters, output, description)])
        expected = ast.ImportFrom | ast.ClassDef | ast.Assign | ast.AsyncFunctionDef
        assert all(isinstance(node, expected) for node in ast.parse(text).body)
        ast.parse(document(made).text)
        assert "\n" not in document(made).call + document(made).summary
        texts[f"generated_{len(texts)}__pyi"] = text

    generate()
    assert len(texts) > 30
    assert complaints(tmp_path, **texts) == []


def _tool(name: str, parameters: Any, output: Any, description: str) -> Tool | None:
    async def execute(arguments: dict[str, Any], call: object) -> object:
        return None

    try:
        return Tool(
            name,
            description.encode("utf-8", "replace").decode(),
            parameters,
            Output(output, as_json),
            execute,
        )
    except ToolDefinitionError:
        return None


def test_a_schema_that_multiplies_is_read_in_bounded_time() -> None:
    names = [f"D{at}" for at in range(12)]
    links = [{"$ref": f"#/$defs/{name}"} for name in names]
    for form in ("allOf", "anyOf", "oneOf"):
        definitions = {name: {form: links} for name in names}
        text = signatures([raw("x", {"a": links[0], "b": {form: links}}, **{"$defs": definitions})])
        assert function(text, "x") == "async def x(a: Any = ..., b: Any = ...) -> Any: ..."


# ------------------------------------------------------------------------------- it can be called


def calls(text: str) -> list[str]:
    """How each tool of the text is reached, as the text writes it."""
    plain = [f"tools.{node.name}" for node in ast.parse(text).body if isinstance(node, ast.AsyncFunctionDef)]
    exact = re.findall(r'(?m)^# (tools\.\w+|tools\["(?:\\.|[^"\\])*"\])\(', text)
    return plain + exact


async def test_every_name_in_the_text_can_be_called() -> None:
    tools = [*(raw(name) for name in toolsets.NAMES), *toolsets.typed()]
    for each in tools[len(toolsets.NAMES) :]:
        assert each.name not in toolsets.NAMES
    nothing = {each.name for each in tools if _accepts_nothing(each) and not each.output.schema.json_schema}
    text = signatures([each for each in tools if each.name in nothing])
    ways = calls(text)
    assert len(ways) == len(nothing)
    async with CodeMode(tools) as cm:
        result = await cm.run("\n".join(f"{way}()" for way in ways) + "\nreturn 'all'")
        assert result.result == "all", result.text


def _accepts_nothing(tool: Tool) -> bool:
    try:
        tool.parameters.accept(freeze({}))
    except ToolArgumentsError:
        return False
    return True


async def test_every_parameter_can_be_given_as_the_text_spells_it() -> None:
    names = [
        "name",
        "self",
        "args",
        "tool",
        "from",
        "class",
        "x",
        "arguments",
        "_tool",
        "a-b",
        "_hidden",
        "__m",
    ]
    async with CodeMode(
        [raw("plain", {name: {} for name in names[:8]}), raw("odd", {name: {} for name in names})]
    ) as cm:
        text = signatures(cm.registry)
        spelled = [
            argument.arg
            for node in ast.parse(text).body
            if isinstance(node, ast.AsyncFunctionDef) and node.name == "plain"
            for argument in node.args.args
        ]
        assert spelled == ["name", "self", "args", "tool", "from_", "class_", "x", "arguments"]
        given = ", ".join(f"{name}={at}" for at, name in enumerate(spelled))
        result = await cm.run(f"return tools.plain({given})")
        assert result.result == {name: at for at, name in enumerate(names[:8])}, result.text
        assert "async def odd(arguments: OddArguments = ..., /)" in text
        whole = {name: at for at, name in enumerate(names)}
        result = await cm.run(f"return tools.odd({whole!r})")
        assert result.result == whole, result.text
