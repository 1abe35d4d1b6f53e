"""Tools over the web: `web_fetch`, and `web_search` over a provider. Needs the extra `codemode[web]`.

Which addresses may be reached is decided in `reach.py` alone; no other file here opens a connection to what a
model named.

    reach.py              public addresses, and connections to nothing else
    fetching.py           web_fetch: requests, redirects, bounds
    reading.py            a response's body: unpacked within a bound, decoded, HTML or text
    markdown.py           HTML as Markdown, in a process of its own
    markdown_process.py   that process
    searching.py          web_search: several queries, one answer
    providers.py          what searches: SearXNG, Brave, Tavily
"""

from __future__ import annotations

from codemode import Tool

try:  # only to see whether they are there
    import html_to_markdown  # noqa: F401
    import httpcore  # noqa: F401
    import httpx  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"the web toolkit needs {error.name}; install it with: pip install 'codemode[web]'"
    ) from error

from codemode.toolkits.web.fetching import FetchLimits, fetch_tool
from codemode.toolkits.web.providers import Brave, SearXNG, Tavily
from codemode.toolkits.web.reach import Reach
from codemode.toolkits.web.searching import Found, SearchProvider, Source, search_tool

__all__ = ["Brave", "FetchLimits", "Found", "Reach", "SearXNG", "SearchProvider", "Source", "Tavily", "web"]


def web(
    search: SearchProvider | None = None, *, limits: FetchLimits | None = None, reach: Reach | None = None
) -> list[Tool]:
    """Return the tool `web_fetch` and, with a provider, `web_search`.

    `limits` bound a fetch. `reach` says which addresses that are not public may be reached all the same.
    """
    tools = [fetch_tool(limits or FetchLimits(), reach or Reach())]
    if search is not None:
        tools.append(search_tool(search))
    return tools
