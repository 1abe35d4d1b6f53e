"""Ready tools, each toolkit a function that returns them: `files(workspace)`.

Toolkits use only what a third party could use: the public names of `codemode`, and libraries.
"""

from codemode.toolkits.filesystem import files

__all__ = ["files"]
