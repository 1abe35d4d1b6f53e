"""The engine for programs that are not asynchronous: the face of `codemode`, without trio.

    from codemode.sync import CodeMode

    with CodeMode([stock]) as cm:
        result = cm.run("return tools.stock('apple')")

Each engine has a trio loop in a thread of its own, which lives as long as the engine is entered. Any number of threads
may use one engine at the same time; each waits for its own calls. What a caller hands over runs where it may block:

    tools, approver, hooks   synchronous ones in a worker thread; asynchronous ones are trio's and run in the loop
    on_log, on_end           in the thread that called, while it waits, in order
    render and other pure functions of a tool   in the loop: they must return at once

All of it sees the context variables of the caller. `Hooks` is this module's own, since an `around` hook that is not
asynchronous needs a `proceed` that is not; hooks of toolkits can be given beside them (`mine | theirs`). `tool` and
everything else are the names of `codemode`.

    engine.py    CodeMode, Scope
    waiting.py   handing over a job, and waiting for it
    session.py   the session, from other threads
    hooks.py     functions that block, in worker threads
"""

from codemode.sync.engine import CodeMode, Scope
from codemode.sync.hooks import Hooks
from codemode.sync.session import Session

__all__ = ["CodeMode", "Hooks", "Scope", "Session"]
