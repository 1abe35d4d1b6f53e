"""The engine for asyncio programs: the face of `codemode`, without trio.

    from codemode.asyncio import CodeMode, tool

    async with CodeMode([stock]) as cm:
        result = await cm.run("return tools.stock('apple')")

Each engine has a trio loop in a thread of its own, which lives as long as the engine is entered. (trio could also run
as a guest of the asyncio loop, in one thread. But then everything that holds that loop up holds up every run and its
time limits, the process that guests are forked from would die with whichever thread asyncio is run in, and a loop
that is closed early would leave a trio run that can never end.)

What is imported from here is asyncio's: coroutines that are given to `tool`, `Tool`, `Hooks`, `approver=` and `on_log=`
run as tasks of the loop that entered the engine, and a call that is cancelled cancels its task and waits for its end.
Synchronous functions run in a worker thread, so that they may block; `on_log` and `on_end` on the caller's loop, so
that they must not. Tools and hooks of `codemode` and its toolkits can be given beside them: they run in the engine's
own loop. All of it sees the context variables of the caller.

    engine.py    CodeMode, Scope
    waiting.py   handing over a job, and waiting for it
    session.py   the session, from the caller's loop
    tools.py     tool, Tool, Hooks
    calling.py   from the engine's loop into the caller's
"""

from codemode.asyncio.engine import CodeMode, Scope
from codemode.asyncio.session import Session
from codemode.asyncio.tools import Hooks, Tool, tool

__all__ = ["CodeMode", "Hooks", "Scope", "Session", "Tool", "tool"]
