"""The library's face: an engine with its tools, sandbox and session (`CodeMode`), the views of it (`Scope`), and what
a run gives (`RunResult`).
"""

from codemode.engine.codemode import CodeMode
from codemode.engine.results import RunFailure, RunResult
from codemode.engine.scope import Scope

__all__ = ["CodeMode", "RunFailure", "RunResult", "Scope"]
