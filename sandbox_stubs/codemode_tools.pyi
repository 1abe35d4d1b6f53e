"""The types of the tools of a run. There is no such module at run time; `tools` is there without an import."""

from asyncio import Future
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Never, NotRequired, TypeVar, overload
from typing_extensions import TypedDict

_T = TypeVar("_T")

class Pending(Future[_T]):
    """A call that has been made: await it for its value."""

class AnyTool:
    def __call__(self, *args: Any, **named: Any) -> Any: ...

class _Shadowing:
    pass

class Tools(_Shadowing):
    def __getitem__(self, name: str, /) -> AnyTool: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def search(self, words: str, limit: int = 10) -> list[dict[str, str]]:
        """Find tools by words."""
    def search_(self, words: str, limit: int = 10) -> list[dict[str, str]]:
        """Find tools by words."""
    def describe(self, name: str) -> str:
        """The signature of a tool with its types, as text."""
    def describe_(self, name: str) -> str:
        """The signature of a tool with its types, as text."""

