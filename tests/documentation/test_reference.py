"""The reference leaves no public name out, and the page of the command line is what the parsers say."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys

import pytest

from tests.documentation.pages import ROOT

REFERENCE = ROOT / "docs" / "reference"
ENTRY = re.compile(r"^\.\. auto(?:class|function|data|exception):: (codemode\.\w+)$", re.MULTILINE)
WHOLE = re.compile(r"^\.\. automodule:: (\S+)\n   :members:\n   :imported-members:$", re.MULTILINE)


def test_each_public_name_has_one_entry():
    entries = ENTRY.findall((REFERENCE / "codemode.md").read_text("utf-8"))
    names = importlib.import_module("codemode").__all__
    assert sorted(entries) == sorted(f"codemode.{name}" for name in names)


def test_the_packages_that_users_import_from_have_their_pages():
    whole = [name for page in REFERENCE.glob("*.md") for name in WHOLE.findall(page.read_text("utf-8"))]
    assert len(set(whole)) == len(whole)
    assert {
        "codemode.agent",
        "codemode.asyncio",
        "codemode.conversation",
        "codemode.mcp",
        "codemode.mcp.server",
        "codemode.sdk",
        "codemode.sync",
        "codemode.toolkits",
    } <= set(whole)
    for name in whole:
        assert importlib.import_module(name).__all__, name


@pytest.mark.parametrize(
    "package", ["", ".agent", ".asyncio", ".conversation", ".mcp", ".sdk", ".sync", ".toolkits"]
)
def test_every_public_function_and_class_says_what_it_does(package):
    module = importlib.import_module(f"codemode{package}")
    silent = []
    for name in module.__all__:
        made = getattr(module, name)
        if not getattr(made, "__module__", "").startswith("codemode."):
            continue  # an alias of types: its text stands behind it, where the site finds it
        if not made.__doc__:
            silent.append(name)
        for part, member in vars(made).items() if isinstance(made, type) else ():
            if (
                not part.startswith("_")
                and (callable(member) or isinstance(member, property))
                and not member.__doc__
            ):
                silent.append(f"{name}.{part}")
    assert silent == []


def test_the_page_of_the_command_line_is_what_the_parsers_say():
    script = [sys.executable, "docs/command_line_page.py"]
    written = subprocess.run(script, cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout
    page = (REFERENCE / "command-line.md").read_text("utf-8")
    assert page == written, "run: python docs/command_line_page.py > docs/reference/command-line.md"
