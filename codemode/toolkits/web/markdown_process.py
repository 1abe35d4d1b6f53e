"""The process that turns a page into Markdown for `markdown.py`. Run as a script; imported by nobody.

It reads one JSON object from standard input and writes Markdown to standard output. Any other exit code than 0
means that there is none. It has no environment and limits on time and memory.
"""

from __future__ import annotations

import json
import sys
from urllib.parse import urljoin

_LEFT_OUT = ["script", "style", "noscript", "template", "svg", "iframe", "object", "head"]


def main() -> None:
    request = json.loads(sys.stdin.buffer.read())
    _limit_resources(request["cpuSeconds"], request["memoryBytes"])
    try:
        markdown = _convert(request["html"], request["baseUrl"])
    except (RecursionError, MemoryError, ValueError):
        raise SystemExit(1) from None
    sys.stdout.buffer.write(markdown.encode("utf-8", "replace")[: request["maxBytes"]])


def _convert(html: str, base_url: str) -> str:
    from bs4 import BeautifulSoup
    from markdownify import ATX, MarkdownConverter

    soup = BeautifulSoup(html, "html.parser")
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    for element in soup.find_all(_LEFT_OUT):
        element.extract()
    for name, attribute in (("a", "href"), ("img", "src")):
        for element in soup.find_all(name):
            target = str(element.get(attribute) or "")
            if target[:5].lower() == "data:":
                element[attribute] = ""
            elif target:
                element[attribute] = _absolute(target, base_url)
    converter = MarkdownConverter(heading_style=ATX, bullets="-", table_infer_header=True)
    markdown = str(converter.convert_soup(soup)).strip()
    while "\n\n\n" in markdown:
        markdown = markdown.replace("\n\n\n", "\n\n")
    if title and not markdown.startswith("# "):
        markdown = f"# {title}\n\n{markdown}"
    return markdown


def _absolute(target: str, base_url: str) -> str:
    try:
        return urljoin(base_url, target.strip())
    except ValueError:
        return target


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
