"""`xml.etree.ElementTree` as programs see it: text in, text out, no files. And the names of HTML's entities.

Elements are the library's own. Whatever of it opens a file when it is given a name is written anew here,
over text that has been read already; so nothing here may pass a program's object to the library as a source
or a target.
"""

from __future__ import annotations

import html.entities
import importlib
import types
from collections.abc import Iterator
from typing import Any

from codemode.guest.library import streams

__all__ = ["ELEMENT_TREE", "ENTITIES"]

# Any: the stubs describe a library that opens files, and elements of a kind that programs choose.
ElementTree: Any = importlib.import_module("xml.etree.ElementTree")

_NO_FILES = "there are no files here: pass the text to fromstring(), and take it from tostring()"


def _read(source: Any) -> Any:
    """Return the text of an open stream."""
    if isinstance(source, str | bytes) or not hasattr(source, "read"):
        raise RuntimeError(f"xml.etree.ElementTree: {_NO_FILES}")
    return source.read()


def _root(source: Any, parser: Any) -> Any:
    parser = ElementTree.XMLParser() if parser is None else parser
    parser.feed(_read(source))
    return parser.close()


class Tree(ElementTree.ElementTree):  # type: ignore[misc]
    """`ElementTree`: reads from streams and writes to them."""

    def __init__(self, element: Any = None, file: Any = None) -> None:
        super().__init__(element)
        if file is not None:
            self.parse(file)

    def parse(self, source: Any, parser: Any = None) -> Any:
        """Read a document from an open stream; return its root."""
        self._root = _root(source, parser)
        return self._root

    def write(
        self,
        file_or_filename: Any,
        encoding: str | None = None,
        xml_declaration: bool | None = None,
        default_namespace: str | None = None,
        method: str | None = None,
        *,
        short_empty_elements: bool = True,
    ) -> None:
        """Write the document to an open stream."""
        if isinstance(file_or_filename, str | bytes) or not hasattr(file_or_filename, "write"):
            raise RuntimeError(f"xml.etree.ElementTree: {_NO_FILES}")
        root = self.getroot()
        if root is None:
            raise TypeError("this tree has no root yet")
        text = ElementTree.tostring(
            root,
            encoding or "us-ascii",
            method,
            xml_declaration=xml_declaration,
            default_namespace=default_namespace,
            short_empty_elements=short_empty_elements,
        )
        file_or_filename.write(text)

    def write_c14n(self, file: Any) -> None:
        """Write the canonical form to an open stream."""
        self.write(file, method="c14n")


def parse(source: Any, parser: Any = None) -> Tree:
    """Read a document from an open stream."""
    tree = Tree()
    tree.parse(source, parser)
    return tree


def iterparse(source: Any, events: Any = None, parser: None = None) -> Iterator[Any]:
    """Read a document from an open stream, event by event."""
    pull = ElementTree.XMLPullParser(events)
    pull.feed(_read(source))
    yield from pull.read_events()
    pull.close()
    yield from pull.read_events()


def dump(elem: Any) -> None:
    """Print an element."""
    root = elem.getroot() if isinstance(elem, Tree) else elem
    streams.print_(ElementTree.tostring(root, encoding="unicode"))


_AS_THEY_ARE = """
    Comment Element PI ParseError ProcessingInstruction QName SubElement TreeBuilder VERSION XML XMLID XMLParser
    fromstring fromstringlist indent iselement register_namespace tostring tostringlist
    """.split()

Tree.__name__ = Tree.__qualname__ = "ElementTree"
Tree.__module__ = "xml.etree.ElementTree"

ELEMENT_TREE: dict[str, Any] = {
    **{name: getattr(ElementTree, name) for name in _AS_THEY_ARE},
    "ElementTree": Tree,
    "dump": dump,
    "iterparse": iterparse,
    "parse": parse,
}

ENTITIES: dict[str, Any] = {
    name: types.MappingProxyType(dict(getattr(html.entities, name)))
    for name in ("codepoint2name", "entitydefs", "html5", "name2codepoint")
}
