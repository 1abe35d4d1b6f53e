"""Tools from Python modules, for a while: `plugin_inspect`, `plugin_mount`, `plugin_unmount`.

A plugin is a module with `TOOLS`, a list of tools, and perhaps `HOOKS`; it comes from an entry point of an installed
package, or from a file of the workspace. Its code runs in the host, with all that the host may do, so somebody is
asked before each mount.

    loading.py    a module from a file or an entry point, and how it is taken out again
    mounts.py     what is mounted, and the three tools
"""

from __future__ import annotations

import os

from codemode import Registry, Tool
from codemode.toolkits.mounting.loading import ENTRY_POINTS, Loader
from codemode.toolkits.mounting.mounts import Mounts

__all__ = ["ENTRY_POINTS", "plugins"]


def plugins(registry: Registry, workspace: str | os.PathLike[str] | None = None) -> list[Tool]:
    """Return the three tools. What they mount goes into `registry`, and is gone when the engine has closed.

    Files of `workspace` can be mounted, if it is given, and what installed packages offer as entry points of the
    group `codemode.plugins`. Raises `ToolDefinitionError` if `workspace` is no directory.
    """
    return Mounts(registry, Loader(workspace)).tools()
