"""Programs for clients of the Model Context Protocol: what `codemode serve` serves.

`app` is what a client can ask for, `report` what it is told while a program runs, `stdio` and `http` are the ways
there. Nothing here knows of options or files.
"""

from codemode.mcp.server.app import ProgramServer
from codemode.mcp.server.http import TokenRequired, open_socket, serve_http
from codemode.mcp.server.stdio import serve_stdio

__all__ = ["ProgramServer", "TokenRequired", "open_socket", "serve_http", "serve_stdio"]
