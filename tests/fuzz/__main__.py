"""`python -m tests.fuzz wire|policy|values [--seconds N] [--seed S] [--case N]`: examine random cases.

    wire      bytes of a guest that keeps to the protocol, nearly does, or does not, against a model of the protocol;
              and every decoder of the wire and of the zygote's messages against arbitrary bytes
    policy    programs with hostile names in every place that holds a name: what is compiled may not name them, and is
              run, with a witness that knows the interpreter's own objects when it is shown one
    values    JSON values and what is nearly one: freezing, checking, adopting, thawing, the wire and the text of
              values, against the `json` module

A case is made from the seed and its number alone, the same on every machine. What is found is printed with the
command that shows it again. Exit code 0 only if nothing was found.
"""

from __future__ import annotations

import argparse
import sys

import trio

from tests.fuzz.campaign import campaign


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("wire", "policy", "values"))
    parser.add_argument("--seconds", type=float, default=300.0, help="how long (default: %(default)g)")
    parser.add_argument("--seed", type=int, default=1, help="which cases (default: %(default)s)")
    parser.add_argument("--case", type=int, help="this case alone")
    options = parser.parse_args()
    if options.case is not None:
        found = trio.run(campaign, options.what, options.seed, None, range(options.case, options.case + 1))
    else:
        found = trio.run(campaign, options.what, options.seed, options.seconds)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
