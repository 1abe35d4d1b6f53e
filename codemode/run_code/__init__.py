"""The tool that joins tools, sandbox and session."""
