"""The tools of other MCP servers as tools here: `mcp_tools("mcp.json")`."""

from codemode.mcp.client.config import McpConfigError, ServerConfig, load_config
from codemode.mcp.client.servers import McpError, McpServer, McpTools, mcp_tools

__all__ = [
    "McpConfigError",
    "McpError",
    "McpServer",
    "McpTools",
    "ServerConfig",
    "load_config",
    "mcp_tools",
]
