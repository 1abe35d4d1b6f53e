"""The command line. `main` is the entry point; each command is a module of this package."""

from codemode.cli.main import main

__all__ = ["main"]
