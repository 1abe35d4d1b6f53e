"""What a model is told of `run_code`: how a program is written here, under which limits, and with which tools.

Every fact in it comes from the capability card, so from the tables that the engine obeys. Where the signatures are
longer than the budget, tools are listed in fewer words, and a program finds the rest by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from codemode.sandbox.limits import Limits
from codemode.sdk.capabilities import Capabilities, ToolCard, capabilities
from codemode.sdk.signatures import signatures
from codemode.tools.definition import Tool

__all__ = ["DEFAULT_BUDGET", "prompt", "tokens"]

DEFAULT_BUDGET = 8_000
"""Tokens for the list of tools, as `tokens` counts them: about a hundred tools of ordinary size with their types."""

_CHARACTERS_PER_TOKEN = 4  # of English and of Python, as the providers' own guides put it


def tokens(text: str) -> int:
    """Return about how many tokens a text takes."""
    return -(-len(text) // _CHARACTERS_PER_TOKEN)


def prompt(
    tools: Sequence[Tool],
    limits: Limits | None = None,
    *,
    budget: int = DEFAULT_BUDGET,
    shown_bytes: int | None = None,
    packages: Sequence[str] = (),
) -> str:
    """Return the description of `run_code` for a model. The same tools under the same limits give the same text.

    `budget` is how many tokens the list of tools may take; 0 leaves all of them to be searched for. `shown_bytes`
    is how much of what a program gives is shown; `packages` can be imported beside the standard library.
    """
    card = capabilities(tools, limits, packages=packages)
    return "\n\n".join([_rules(card, shown_bytes), _tools(card, tools, budget)])


def _rules(card: Capabilities, shown_bytes: int | None) -> str:
    limits = card.limits
    modules = sorted({name.partition(".")[0] for name in card.modules})
    shown = "" if shown_bytes is None else f"; {shown_bytes:,} bytes of output are shown"
    return f"""\
Run one Python {card.versions.python} program that calls tools as functions. You see only what it prints or returns.

- It is the body of a function: `return` a JSON value, or end with an expression; `print` adds text.
- `tools.name(argument=value)` gives plain data (dict, list, str, …), which cannot be changed: copy it first. A failed \
call raises `ToolCallError` (`.message`, `.tool_name`, `.code`).
- With `await` anywhere in it, await each tool call (`await asyncio.gather(...)` overlaps them); without, calls give \
values directly.
- Each run starts empty. Files, network and processes are reached through tools alone. Not here: \
{", ".join(card.unavailable)}.
- Can be imported: {", ".join([*modules, *card.packages])}.
- Limits: {limits.wall_seconds:g} s, {limits.cpu_seconds:g} s of them computing, {limits.memory_bytes >> 20} MiB, \
{limits.max_calls:,} calls{shown}."""


def _tools(card: Capabilities, tools: Sequence[Tool], budget: int) -> str:
    if not card.tools:
        return "There are no tools."
    whole = _fenced(signatures(tools))
    if tokens(whole) <= budget:
        return f"The tools, as a stub of a module `tools`:\n{whole}"
    names = {each.name for each in tools}
    search = "search_" if "search" in names else "search"
    describe = "describe_" if "describe" in names else "describe"
    intro = (
        f"There are {len(card.tools):,} tools. In a program, at no cost, "
        f'`tools.{search}("words")` gives those that fit best as [{{"name", "call", "summary"}}], and '
        f'`tools.{describe}("name")` gives a signature with its types, as text.'
    )
    return f"{intro}{_listed(card.tools, budget)}"


def _listed(tools: Sequence[ToolCard], budget: int) -> str:
    """As much of the tools as fits: names with summaries, names, or the first of the names."""
    forms: Sequence[tuple[str, Callable[[ToolCard], str]]] = (
        ("\n", lambda each: f"{each.access}: {each.summary}" if each.summary else each.access),
        (", ", lambda each: each.access),
    )
    for separator, form in forms:
        text = separator.join(form(each) for each in tools)
        if tokens(text) <= budget:
            return f" All of them:\n{_fenced(text, '')}"
    shown: list[str] = []
    room = budget
    for each in tools:
        room -= tokens(f"{each.access}, ")
        if room < 0:
            break
        shown.append(each.access)
    return f" The first of them:\n{_fenced(', '.join(shown), '')}" if shown else ""


def _fenced(text: str, language: str = "python") -> str:
    """The text in a Markdown fence that nothing in it can end."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
