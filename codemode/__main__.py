"""`python -m codemode` is the `codemode` command."""

from codemode.cli import main

raise SystemExit(main())
