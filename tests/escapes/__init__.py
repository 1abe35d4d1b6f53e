"""Programs that try to break out, and the command that runs them; see `__main__.py`."""
