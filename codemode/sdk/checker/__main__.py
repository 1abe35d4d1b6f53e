"""Checks programs in a process of its own: `python -I -S checker DIR TY PYTHON SECONDS`. Standard library only.

DIR holds the programs and the stubs for both styles, in `sync` and `async`. Programs are parsed here, never in the
host; the type checker `ty` reads them as they stand, so that lines are their own. What comes out is one JSON object:
the findings, each with the names that the host makes a sentence of, and why it is not certain, if so.

The directory is run as it is, not as a part of its package, so that nothing else is loaded; and the checker is started
first, with what a look at the text says of each program's style, so that it works while this process gets ready.
"""

from __future__ import annotations

import posix
import resource
import sys

_MOST_FINDINGS = 100  # of one program; nobody reads more
_STYLES = ("sync", "async")
_MEMORY_BYTES = 4 << 30
"""Address space of this process and of the checker: a program can be written to make it grow without end."""


def start(directory: str, ty: str, python: str, style: str, files: list[str], out: str) -> int:
    """Start the checker over some of the programs, its output into a file; return its process number."""
    command = [
        ty, "check", "--output-format", "gitlab", "--python-version", python, "--no-progress", "--exit-zero",
        "--project", directory, "--extra-search-path", f"{directory}/{style}", *files,
    ]  # fmt: skip
    environment = {b"PATH": posix.environ.get(b"PATH", b"")}
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC
    actions = [
        (posix.POSIX_SPAWN_OPEN, 1, f"{out}.out", flags, 0o600),
        (posix.POSIX_SPAWN_OPEN, 2, f"{out}.err", flags, 0o600),
    ]
    return posix.posix_spawn(ty, command, environment, file_actions=actions)


def read(name: str) -> bytes:
    """Return what is in a file."""
    fd = posix.open(name, posix.O_RDONLY)
    pieces = []
    while piece := posix.read(fd, 1 << 20):
        pieces.append(piece)
    posix.close(fd)
    return b"".join(pieces)


def main(directory: str, ty: str, python: str, seconds: int) -> None:
    """Write the answer: `{"findings": [of each program]}`, or `{"failed": why}`. Programs are `0.py`, `1.py`, …"""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    posix.chdir(directory)
    texts = [read(f"{at}.py") for at in range(sum(name.endswith(".py") for name in posix.listdir()))]
    guessed = ["async" if b"await" in text or b"async" in text else "sync" for text in texts]

    def run(styles: list[str], which: list[int], out: str) -> dict[str, int]:
        started = {}
        for style in _STYLES:
            chosen = [f"{at}.py" for at in which if styles[at] == style]
            if chosen:
                started[f"{out}-{style}"] = start(directory, ty, python, style, chosen, f"{out}-{style}")
        return started

    started = run(guessed, list(range(len(texts))), "first")

    import ast
    import json

    from program import Program

    names = json.loads(read("sync/names.json"))
    findings: list[list[dict[str, object]]] = [[] for _ in texts]
    programs = {}
    for at, text in enumerate(texts):
        source = text.decode("utf-8", "surrogatepass")
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            # Not certain: the engine reads it again, and says better what is wrong.
            line, column = getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1
            words = getattr(error, "msg", None) or str(error) or "it is nested too deeply"
            place = {"line": line, "column": column}
            findings[at] = [{**place, "kind": "unparsable", "perhaps": "unsure", "name": words}]
        else:
            programs[at] = Program(tree, source, names["objects"])
    styles = ["async" if at in programs and programs[at].is_async else "sync" for at in range(len(texts))]
    wrong = [at for at in programs if styles[at] != guessed[at]]
    started |= run(styles, wrong, "second")
    for out, pid in started.items():
        _, status = posix.waitpid(pid, 0)
        if status != 0:
            words = read(f"{out}.err").decode("utf-8", "replace")[-2000:]
            sys.stdout.write(
                json.dumps({"failed": words or f"exit code {posix.waitstatus_to_exitcode(status)}"})
            )
            return
        for each in json.loads(read(f"{out}.out")):
            at, begin = (
                int(each["location"]["path"].removesuffix(".py")),
                each["location"]["positions"]["begin"],
            )
            if (
                at not in programs
                or len(findings[at]) >= _MOST_FINDINGS
                or (out.startswith("first") and at in wrong)
            ):
                continue
            found = programs[at].read(each["check_name"], each["description"], begin["line"], begin["column"])
            if found is not None:
                findings[at].append(found)
    for at, program in programs.items():
        findings[at].extend(program.unknown_items(names["tools"]))
        findings[at].sort(key=lambda each: (each["line"], each["column"]))
        program.settle(findings[at])
    sys.stdout.write(json.dumps({"findings": findings}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
