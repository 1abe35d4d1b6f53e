"""`lsp`: where something is defined, used and implemented, and what it is, as language servers know it.

languages.py   which servers there are, and for which files
framing.py     messages as bytes
server.py      one server: a process that is started, asked, and ended
client.py      the servers of a workspace, and what they know of its files
results.py     what servers answer, in one form
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta

from codemode import Tool, ToolDefinitionError, tool
from codemode.toolkits.filesystem.workspace import Workspace
from codemode.toolkits.lsp.client import Client
from codemode.toolkits.lsp.languages import Language, installed
from codemode.toolkits.lsp.results import Hover, Locations, as_hover, as_locations, render

__all__ = ["Language", "installed", "lsp"]

QUESTION_SECONDS = 60.0
_GRACE_SECONDS = 5.0

Operation = Annotated[
    Literal["goToDefinition", "findReferences", "goToImplementation", "hover"],
    Meta(description="what to ask of the name"),
]
Counted = Annotated[int, Meta(ge=1, description="counted from 1, as read shows lines")]
FilePath = Annotated[str, Meta(min_length=1, description="relative to the workspace")]

_METHODS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "goToDefinition": ("textDocument/definition", "definitionProvider", {}),
    "findReferences": (
        "textDocument/references",
        "referencesProvider",
        {"context": {"includeDeclaration": True}},
    ),
    "goToImplementation": ("textDocument/implementation", "implementationProvider", {}),
    "hover": ("textDocument/hover", "hoverProvider", {}),
}


def lsp(
    workspace: str | os.PathLike[str],
    languages: Sequence[Language] | None = None,
    *,
    seconds: float = QUESTION_SECONDS,
) -> list[Tool]:
    """Return the tool `lsp` over a directory. Its servers end with the engine it is called through.

    `languages` are the servers to use; those that are known and installed if not given. `seconds` bounds a
    question, with the start of a server that it may need. A server runs code of its own over the workspace's
    files, outside of any sandbox, with few of the host's environment variables.
    Raises `ToolDefinitionError` if there is no such directory, or no server at all.
    """
    place = Workspace(workspace)
    known = installed() if languages is None else list(languages)
    if not known:
        raise ToolDefinitionError(
            "the lsp toolkit needs a language server, such as that of: pip install basedpyright"
        )
    return [_tool(Client(place, known, seconds), seconds)]


def _tool(client: Client, seconds: float) -> Tool:
    @tool(render=render, read_only=True, timeout=seconds + _GRACE_SECONDS, lifespan=client)
    async def lsp(
        operation: Operation, file_path: FilePath, line: Counted, character: Counted
    ) -> Locations | Hover:
        """Ask a language server about the name at a place in a file.

        goToDefinition, findReferences (with the declaration) and goToImplementation give locations, all of them;
        hover gives what the name is. The place is counted from 1; what is returned from 0, as the protocol
        counts. The first question for a language waits until its server has started.
        """
        method, capability, extra = _METHODS[operation]
        answer = await client.ask(file_path, line, character, method, capability, extra)
        return as_hover(answer) if operation == "hover" else as_locations(answer, client.root_uri)

    return lsp
