"""`lsp` over a real server."""

from __future__ import annotations

import sys

import pytest

from codemode import CodeMode
from codemode.toolkits import files
from codemode.toolkits.lsp import installed, lsp
from tests.toolkits.calling import both, shown, value
from tests.toolkits.support import children, fill

SHAPES = '''\
from abc import ABC, abstractmethod


class Shape(ABC):
    @abstractmethod
    def area(self) -> float:
        """How large it is."""


class Square(Shape):
    def __init__(self, side: float) -> None:
        self.side = side

    def area(self) -> float:
        return self.side**2
'''
USE = "from shapes import Square\n\nprint(Square(2).area())\n"


def at(line, character):
    return {"line": line, "character": character}


async def test_a_real_server_answers_about_files_that_change(root):
    languages = [each for each in installed() if each.name == "basedpyright"]
    assert languages, "basedpyright belongs to what the tests install"
    fill(root, {"shapes.py": SHAPES, "use.py": USE})
    before = children()
    async with CodeMode([*lsp(root, languages), *files(root, write=True)]) as cm:
        ask = {"file_path": "use.py", "line": 3, "character": 17}
        definition = await both(cm, "lsp", operation="goToDefinition", **ask)
        assert definition == {
            "kind": "locations",
            "locations": [
                {
                    "uri": f"file://{root}/shapes.py",
                    "range": {"start": at(13, 8), "end": at(13, 12)},
                }
            ],
            "resolvedWorkspaceUri": f"file://{root}",
        }
        assert await shown(cm, "lsp", operation="goToDefinition", **ask) == "shapes.py:14:9"

        hover = await both(cm, "lsp", operation="hover", **ask)
        assert hover["kind"] == "hover"
        assert "def area() -> float" in hover["hover"]["contents"]
        assert hover["hover"]["range"] == {"start": at(2, 16), "end": at(2, 20)}

        references = await both(
            cm, "lsp", operation="findReferences", file_path="shapes.py", line=10, character=7
        )
        assert sorted(location["uri"].rsplit("/", 1)[1] for location in references["locations"]) == [
            "shapes.py",
            "use.py",
            "use.py",
        ]
        implementations = await value(
            cm, "lsp", operation="goToImplementation", file_path="shapes.py", line=6, character=9
        )
        assert [location["range"]["start"]["line"] for location in implementations["locations"]] == [5, 13]

        # A program changes files, and what it asks afterwards is about the changed ones.
        result = await cm.run(
            """
tools.write("more.py", "from shapes import Square\\n\\nprint(Square(3))\\n")
tools.edit("use.py", "print(Square(2).area())", "# moved\\nprint(Square(2).area())")
found = tools.lsp("findReferences", "shapes.py", 10, 7)["locations"]
return sorted((each["uri"].rsplit("/", 1)[1], each["range"]["start"]["line"]) for each in found)
"""
        )
        assert result.error is None, result.error
        assert result.result == [
            ["more.py", 0],
            ["more.py", 2],
            ["shapes.py", 9],
            ["use.py", 0],
            ["use.py", 3],
        ]
    assert children() == before


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_server_is_found_beside_the_running_python():
    found = {each.name: each for each in installed()}
    assert found["basedpyright"].command[0].startswith(sys.prefix)
    assert "pyright" not in found  # one server for each kind of file
