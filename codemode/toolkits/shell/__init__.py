"""Shell commands over one workspace, in the foreground and as background jobs: `bash`, `job_output`, `job_list`,
`job_kill`.

    bash.py       the tool, and how one command goes
    following.py  what is done with jobs
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from codemode import Tool
from codemode.toolkits.jobs import Jobs
from codemode.toolkits.processes.confinement import confine
from codemode.toolkits.shell.bash import bash_tool
from codemode.toolkits.shell.following import job_tools

__all__ = ["shell"]


def shell(
    workspace: str | os.PathLike[str],
    *,
    jobs: Jobs | None = None,
    confined: bool | None = None,
    environment: Mapping[str, str] | None = None,
    readable: Sequence[str | os.PathLike[str]] = (),
) -> list[Tool]:
    """Return the tools `bash`, `job_output`, `job_list` and `job_kill` over a directory.

    `bash` asks for approval before each command. Commands are confined to the workspace, without network, where
    bubblewrap works; with `confined=True` the tools are refused where it does not, with False they never are.
    They get a short list of the host's environment variables and those in `environment`; a confined one may also
    read the directories in `readable`. Jobs end with the engine that the tools are called through, or with `jobs`,
    which other toolkits may share.

    Finding out whether bubblewrap works takes a moment, once per process. Raises `ToolDefinitionError`.
    """
    jobs = jobs or Jobs()
    confinement = confine(workspace, confined=confined, environment=environment, readable=readable)
    return [bash_tool(confinement, jobs), *job_tools(jobs)]
