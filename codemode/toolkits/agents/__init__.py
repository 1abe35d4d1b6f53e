"""Tools that start agents: `subagent`, `workflow`, `ralph`. Each agent is the loop of `codemode.agent` over a scope
of the caller's.

    limits.py    what agents may take, one by one and together
    running.py   how one agent is started: over which tools, in which session
    endings.py   what it takes, how it ends, and what its caller is told
    subagent.py  one task for one agent, waited for or in the background
    workflow.py  a program that starts agents
    ralph.py     one objective for fresh agents, one after the other, until it is reached
"""

from __future__ import annotations

import os
from collections.abc import Collection

from codemode import Mode, Tool
from codemode.agent import Provider
from codemode.toolkits.agents.limits import AgentLimits
from codemode.toolkits.agents.ralph import ralph_tool
from codemode.toolkits.agents.running import SYSTEM, Agents
from codemode.toolkits.agents.subagent import subagent_tool
from codemode.toolkits.agents.workflow import workflow_tool
from codemode.toolkits.jobs import Jobs
from codemode.toolkits.shell.following import job_tools

__all__ = ["AgentLimits", "agents"]


def agents(
    provider: Provider,
    *,
    jobs: Jobs | None = None,
    limits: AgentLimits | None = None,
    system: str = SYSTEM,
    mode: Mode | None = None,
    allow: Collection[str] | None = None,
    deny: Collection[str] | None = None,
    read_only: bool = False,
    sessions: str | os.PathLike[str] | None = None,
) -> list[Tool]:
    """Return `subagent`, `workflow` and `ralph`; without `jobs`, which other toolkits share, also the job tools.

    `provider` is the model of all agents, told `system` first. An agent works in a scope over that of the call which
    started it, so with its hooks and its approver, and with no more than its tools: those of `allow` if given, less
    those of `deny`, and with `read_only` only those that declare to change nothing. `mode` says what it calls directly
    (None: as its caller).

    Its conversation is a session of its own: a file in the directory `sessions`, or in `FILE.agents` beside the
    caller's FILE, or in memory where the caller's is. Raises `ValueError` for a wrong mode or limit.
    """
    own_jobs = jobs is None
    jobs = jobs or Jobs()
    family = Agents(
        provider,
        limits or AgentLimits(),
        system=system,
        mode=mode,
        allow=allow,
        deny=deny or (),
        read_only=read_only is True,
        sessions=None if sessions is None else os.fspath(sessions),
    )
    tools = [subagent_tool(family, jobs), workflow_tool(family), ralph_tool(family)]
    return [*tools, *job_tools(jobs)] if own_jobs else tools
