"""`tools.search` and `tools.describe`: what a program finds out about its tools, without a call to the host.

What is known of a tool came with its name when the run began, and is read when it is first asked for.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from codemode import wire

__all__ = ["HELPERS", "Discovery"]

HELPERS = ("search", "describe")
"""The names, as attributes of `tools`; a tool of the same name hides one, which then has an underscore behind it."""

# Okapi BM25 with its usual constants (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009). A word
# of the name counts as three, one of the summary as two.
_K1 = 1.2
_B = 0.75
_NAME_WEIGHT = 3
_SUMMARY_WEIGHT = 2
_PART = 0.5  # what a word counts that only begins as the one that was asked for, or the other way round
_SHORTEST_PART = 3


class Discovery:
    """The tools of one run, to be searched and described."""

    __slots__ = ("_documents", "_tools", "_words")

    def __init__(self, tools: Sequence[wire.ToolName]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._documents: dict[str, wire.Document] = {}
        self._words: dict[str, Counter[str]] | None = None

    def search(self, words: str, limit: int = 10) -> list[dict[str, str]]:
        """Return the tools that fit best, the best first: their names, how they are called, what they do."""
        if type(words) is not str:
            raise TypeError(
                'tools.search takes the words to look for as one text: tools.search("open issues")'
            )
        if type(limit) is not int or limit < 1:
            raise ValueError(f"tools.search(limit={limit!r}): how many tools to return, at least 1")
        scores = self._scores(set(_words(words[:1000])))
        best = sorted(scores, key=lambda name: (-scores[name], name))[:limit]
        return [
            {"name": name, "call": self._document(name).call, "summary": self._document(name).summary}
            for name in best
        ]

    def describe(self, name: str) -> str:
        """Return the signature of a tool with the types that it uses. The caller has looked the name up."""
        return self._document(name).text

    def _document(self, name: str) -> wire.Document:
        found = self._documents.get(name)
        if found is None:
            tool = self._tools[name]
            found = (
                wire.decode_document(tool.document)
                if tool.document
                else wire.Document(tool.signature, "", "")
            )
            self._documents[name] = found = found if found.text else wire.Document(found.call, "", found.call)
        return found

    def _scores(self, asked: set[str]) -> dict[str, float]:
        if self._words is None:
            self._words = {name: self._counted(name) for name in self._tools}
        if not asked:
            return {}
        mean = sum(words.total() for words in self._words.values()) / len(self._words) if self._words else 1.0
        scores: dict[str, float] = {}
        for word in sorted(asked):
            counts = {name: _occurrences(word, words) for name, words in self._words.items()}
            holders = sum(1 for count in counts.values() if count)
            rarity = math.log(1 + (len(counts) - holders + 0.5) / (holders + 0.5))
            for name, count in counts.items():
                if count:
                    length = self._words[name].total() / mean
                    weight = count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length))
                    scores[name] = scores.get(name, 0.0) + rarity * weight
        return scores

    def _counted(self, name: str) -> Counter[str]:
        document = self._document(name)
        words = Counter(_words(document.text))
        for word in _words(name):
            words[word] += _NAME_WEIGHT
        for word in _words(document.summary):
            words[word] += _SUMMARY_WEIGHT
        for parameter in self._tools[name].parameters:
            words.update(_words(parameter))
        return words


def _occurrences(word: str, words: Counter[str]) -> float:
    count = float(words.get(word, 0))
    if not count and len(word) >= _SHORTEST_PART:
        for other, times in words.items():
            if len(other) >= _SHORTEST_PART and (other.startswith(word) or word.startswith(other)):
                count = max(count, _PART * times)
    return count


def _words(text: str) -> list[str]:
    """The words of a text, in small letters; `getUserName` and `get_user_name` have the same three."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return [word.casefold() for word in re.findall(r"[^\W_]+", parted)]
