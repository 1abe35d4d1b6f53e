"""Links between pages lead somewhere as the files lie in the repository: README.md and SECURITY.md are in no site."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.documentation.pages import ROOT, pages

MARKDOWN = MarkdownIt("commonmark").enable("table")


def links(page: Path) -> Iterator[str]:
    for token in MARKDOWN.parse(page.read_text("utf-8")):
        for each in token.children or ():
            target = each.attrs.get("href") or each.attrs.get("src")
            if target is not None and not re.match(r"[a-z]+:", str(target)):
                yield str(target)


def anchors(page: Path) -> set[str]:
    """The headings of a page, as code hosts and the site name them."""
    tokens = MARKDOWN.parse(page.read_text("utf-8"))
    headings = [after.content for token, after in itertools.pairwise(tokens) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", pages())
def test_links_lead_to_files_and_headings_that_there_are(name: str):
    page = ROOT / name
    broken = []
    for target in links(page):
        path, _, heading = target.partition("#")
        there = page.parent / path if path else page
        if not there.exists() or (heading and heading not in anchors(there)):
            broken.append(target)
    assert broken == []
