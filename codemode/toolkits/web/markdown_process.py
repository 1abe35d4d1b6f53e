"""The process that turns a page into Markdown for `markdown.py`. Run as a script; imported by nobody.

It reads one JSON object from standard input and writes Markdown to standard output. Any other exit code than 0
means that there is none. It has no environment and limits on time and memory.
"""

from __future__ import annotations

import html
import json
import re
import sys

_LEFT_OUT = ["script", "style", "noscript", "template", "svg", "iframe", "object"]

_LOSSES = {"depth_limit_exceeded", "truncated_input"}


def main() -> None:
    request = json.loads(sys.stdin.buffer.read())
    _limit_resources(request["cpuSeconds"], request["memoryBytes"])
    markdown = _convert(request["html"], request["baseUrl"])
    sys.stdout.buffer.write(markdown.encode("utf-8", "replace")[: request["maxBytes"]])


def _convert(page: str, base_url: str) -> str:
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

    options = ConversionOptions(
        bullets="-",
        base_url=base_url,
        compact_tables=True,
        exclude_selectors=_LEFT_OUT,
        extract_metadata=False,
        preprocessing=PreprocessingOptions(enabled=False),
    )
    done = convert(page, options)
    if any(str(each.kind) in _LOSSES for each in done.warnings):
        raise SystemExit(1)  # better the page as it is than a part of it that looks whole
    markdown = re.sub(r"\(data:[^)\s]*\)", "()", done.content or "").strip()
    title = re.search(r"<title[^>]{0,200}>([^<]{1,500})</title>", page, re.IGNORECASE)
    if title and not markdown.startswith("# "):
        markdown = f"# {' '.join(html.unescape(title.group(1)).split())}\n\n{markdown}"
    return markdown


def _limit_resources(cpu_seconds: int, memory_bytes: int) -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    except (ImportError, OSError, ValueError):
        pass  # a limit that this system does not have


if __name__ == "__main__":
    main()
