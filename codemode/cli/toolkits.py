"""The toolkits that `codemode run --toolkit NAME` knows, and how each is set up for a command.

One more toolkit is one more function here and one more line in `TOOLKITS`. What a toolkit needs beside the
workspace (a key, an address) it takes from the environment, and says so when it is missing. A toolkit is loaded
when it is asked for.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from codemode.cli.approve import Terminal
from codemode.errors import ToolDefinitionError
from codemode.session import Session
from codemode.tools.definition import Tool
from codemode.tools.hooks import Hooks
from codemode.tools.registry import Registry

if TYPE_CHECKING:
    from codemode.agent import Provider
    from codemode.toolkits import Asker, Jobs

__all__ = ["TOOLKITS", "Kit", "Setting"]


SKILL_FOLDERS = (".agents", ".claude", ".codex")
"""Where agent clients keep skills, in a project and in the home directory: in `skills` beneath these."""


def _jobs() -> Jobs:
    from codemode.toolkits import Jobs

    return Jobs()


class Setting(Struct, frozen=True):
    """What a command gives to each toolkit. `jobs` are the background jobs of all of them, `provider` the model that
    the command itself talks to, `toolkits` the names of all that are asked for."""

    workspace: Path
    registry: Registry
    terminal: Terminal | None
    jobs: Jobs = field(default_factory=_jobs)
    provider: Provider | None = None
    toolkits: frozenset[str] = frozenset()

    @property
    def asker(self) -> Asker | None:
        from codemode.cli.ask import TerminalAsker

        return None if self.terminal is None else TerminalAsker(self.terminal)


class Kit(Struct, frozen=True):
    """What a toolkit gives to the command. `begin` is called once, before the program, with the session."""

    tools: Sequence[Tool]
    hooks: Hooks = Hooks()
    begin: Callable[[Session], None] | None = None


Opener: TypeAlias = Callable[[Setting], AbstractAsyncContextManager[Kit]]
"""Sets a toolkit up for as long as the command runs. Raises `ToolDefinitionError` when it cannot, `ImportError` when
what it needs is not installed."""


@asynccontextmanager
async def _agents(setting: Setting) -> AsyncIterator[Kit]:
    from codemode.toolkits import agents
    from codemode.toolkits.shell.following import job_tools

    async with AsyncExitStack() as stack:
        provider = setting.provider
        if provider is None:
            from codemode.cli.providers import provider_from_environment

            provider = await stack.enter_async_context(provider_from_environment())
        tools = agents(provider, jobs=setting.jobs)
        # The job tools come with `shell`, if that is there too.
        yield Kit(tools if "shell" in setting.toolkits else [*tools, *job_tools(setting.jobs)])


@asynccontextmanager
async def _shell(setting: Setting) -> AsyncIterator[Kit]:
    from codemode.toolkits import shell

    yield Kit(shell(setting.workspace, jobs=setting.jobs))


@asynccontextmanager
async def _plugins(setting: Setting) -> AsyncIterator[Kit]:
    from codemode.toolkits import plugins

    yield Kit(plugins(setting.registry, setting.workspace))


@asynccontextmanager
async def _skills(setting: Setting) -> AsyncIterator[Kit]:
    from codemode.toolkits.skills import skills

    places = [base / name / "skills" for base in (setting.workspace, Path.home()) for name in SKILL_FOLDERS]
    found = [place for place in places if place.is_dir()]
    if not found:
        raise ToolDefinitionError(
            f"there are no skills; they are looked for in {', '.join(map(str, places))}"
        )
    yield Kit(skills(found))


@asynccontextmanager
async def _terminal(setting: Setting) -> AsyncIterator[Kit]:
    from codemode.toolkits.terminal import terminal

    yield Kit(terminal(setting.workspace, jobs=setting.jobs))


@asynccontextmanager
async def _todo(setting: Setting) -> AsyncIterator[Kit]:
    from codemode.toolkits import todo

    yield Kit(todo())


@asynccontextmanager
async def _questions(setting: Setting) -> AsyncIterator[Kit]:
    from codemode.toolkits import questions

    yield Kit(questions(setting.asker))


@asynccontextmanager
async def _lsp(setting: Setting) -> AsyncIterator[Kit]:
    from codemode.toolkits.lsp import lsp

    yield Kit(lsp(setting.workspace))


@asynccontextmanager
async def _plan(setting: Setting) -> AsyncIterator[Kit]:
    from codemode.toolkits import PlanMode

    mode = PlanMode(setting.asker)
    yield Kit(mode.tools, mode.hooks, mode.enter)


@asynccontextmanager
async def _web(setting: Setting) -> AsyncIterator[Kit]:
    from codemode.toolkits.web import Brave, SearchProvider, SearXNG, Tavily, web

    providers: dict[str, Callable[[str], SearchProvider]] = {
        "SEARXNG_URL": SearXNG,
        "BRAVE_API_KEY": Brave,
        "TAVILY_API_KEY": Tavily,
    }
    given = [name for name in providers if os.environ.get(name)]
    if len(given) > 1:
        raise ToolDefinitionError(f"{' and '.join(given)} are set; set the one of them that is to search")
    yield Kit(web(providers[given[0]](os.environ[given[0]]) if given else None))


TOOLKITS: Mapping[str, Opener] = MappingProxyType(
    {
        "agents": _agents,
        "lsp": _lsp,
        "plan": _plan,
        "plugins": _plugins,
        "questions": _questions,
        "shell": _shell,
        "skills": _skills,
        "terminal": _terminal,
        "todo": _todo,
        "web": _web,
    }
)
