"""Model Context Protocol, both ways: `client` makes tools of other servers' tools, `server` offers programs.

Only what a user of the library names is named here. Both directions use the official SDK, which is the extra
`codemode[mcp]`.
"""

try:
    import mcp as _sdk  # noqa: F401
except ImportError as error:
    raise ImportError(
        "codemode.mcp needs the Model Context Protocol SDK: pip install 'codemode[mcp]'"
    ) from error

from codemode.mcp.client import (
    McpConfigError,
    McpError,
    McpServer,
    McpTools,
    ServerConfig,
    load_config,
    mcp_tools,
)

__all__ = [
    "McpConfigError",
    "McpError",
    "McpServer",
    "McpTools",
    "ServerConfig",
    "load_config",
    "mcp_tools",
]
