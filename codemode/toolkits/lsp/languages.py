"""Which language servers there are, and for which files. Data only."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

__all__ = ["Language", "environment", "installed"]


class Language(Struct, frozen=True):
    """A language server: what starts it, and the files that it is for (`{".py": "python"}`: ending, language id).

    `settings` answer its `workspace/configuration`, by section; `options` are its `initializationOptions`.
    `environment` is added to the few variables that it gets of the host's.
    """

    name: str
    command: tuple[str, ...]
    files: Mapping[str, str]
    settings: Mapping[str, Any] = {}
    options: Mapping[str, Any] = {}
    environment: Mapping[str, str] = {}


_SCRIPT = {".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact"}
_TYPESCRIPT = {".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact"}
_C = {".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp"}
_PYTHON = {".py": "python", ".pyi": "python"}
_RUST = {"cargo": {"buildScripts": {"enable": False}}, "procMacro": {"enable": False}, "checkOnSave": False}

_KNOWN = (
    Language("basedpyright", ("basedpyright-langserver", "--stdio"), _PYTHON),
    Language("pyright", ("pyright-langserver", "--stdio"), _PYTHON),
    Language(
        "typescript-language-server", ("typescript-language-server", "--stdio"), {**_SCRIPT, **_TYPESCRIPT}
    ),
    Language("gopls", ("gopls",), {".go": "go"}),
    # Without what would run code of the workspace: build scripts, macros, checks on save.
    Language("rust-analyzer", ("rust-analyzer",), {".rs": "rust"}, options=_RUST),
    Language("clangd", ("clangd",), _C),
)

_PASSED_ON = (
    "PATH HOME USER LOGNAME LANG LC_ALL LC_CTYPE TMPDIR TZ SHELL VIRTUAL_ENV CONDA_PREFIX PYENV_VERSION JAVA_HOME "
    "GOPATH GOROOT GOCACHE GOMODCACHE CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN XDG_CACHE_HOME XDG_CONFIG_HOME"
).split()


def installed() -> list[Language]:
    """Return the known servers that are installed, for each kind of file the first.

    They are looked for beside the running Python, where `pip` puts them, and on the PATH.
    """
    beside = os.path.dirname(sys.executable)
    found: list[Language] = []
    for language in _KNOWN:
        program = shutil.which(language.command[0], path=beside) or shutil.which(language.command[0])
        if program and not any(language.files.keys() & other.files.keys() for other in found):
            found.append(msgspec.structs.replace(language, command=(program, *language.command[1:])))
    return found


def environment(language: Language) -> dict[str, str]:
    """Return the variables that a server gets: no keys and tokens of the host's."""
    return {
        **{name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        **language.environment,
    }


def language_of(path: str, languages: Sequence[Language]) -> Language | None:
    """Return the language of a file, by its ending."""
    ending = os.path.splitext(path)[1].lower()
    return next((language for language in languages if ending in language.files), None)
