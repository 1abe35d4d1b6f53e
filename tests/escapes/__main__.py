"""`python -m tests.escapes DIR… [--language-only | --process-only]`: run escape payloads, one after another.

One line for each payload (name, mode, how it ended, contained or ESCAPED), and a closing count. Exit code 0 only if
none escaped that the walls left standing must stop, the host lived, the next run worked after each of them, and
nothing was left behind.

    (no option)        both walls. `code` payloads run as a model's program would. `raw` ones assume the language
                       wall lost and are executed as plain Python in a confined guest.
    --language-only    no process wall: guests of this machine's own user, with files, descriptors and system calls
                       free, and only memory and processor time bounded. `raw` payloads do not apply.
    --process-only     no language wall: `code` payloads too are executed as plain Python with every builtin.

How a wall is taken down is in `arrangements.py`, what a payload file is in `payload.py`, what counts as an escape in
`verdict.py`. Nothing that is shipped knows of any of this.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import trio

from tests.escapes import arrangements
from tests.escapes.payload import find
from tests.escapes.runner import run_all


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.escapes", description="Run escape payloads.")
    parser.add_argument(
        "paths", metavar="DIR", nargs="+", type=Path, help="directories of payloads, or single files"
    )
    wall = parser.add_mutually_exclusive_group()
    wall.add_argument("--language-only", action="store_true", help="with the process wall down")
    wall.add_argument("--process-only", action="store_true", help="with the language wall down")
    options = parser.parse_args()
    standing = "language" if options.language_only else "process" if options.process_only else "both"
    try:
        payloads = find(options.paths)
    except OSError as error:
        parser.error(str(error))
    if not payloads:
        parser.error("no payloads there")
    arrangements.check(standing)
    return trio.run(run_all, payloads, standing)


if __name__ == "__main__":
    sys.exit(main())
