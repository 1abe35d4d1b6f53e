"""What all scopes of an engine share: its settings, and what it has while it is entered."""

from __future__ import annotations

import trio

from codemode.sandbox import Limits, Sandbox
from codemode.sdk.checks import Checks
from codemode.session import Session
from codemode.tools.bodies import Bodies
from codemode.tools.spill import Spill

__all__ = ["Core", "Opened"]


class Opened:
    """What an engine has while it is entered."""

    def __init__(self, session: Session, sandbox: Sandbox, nursery: trio.Nursery, bodies: Bodies) -> None:
        self.session = session
        self.sandbox = sandbox
        self.nursery = nursery
        self.bodies = bodies


class Core:
    """What all scopes of an engine share."""

    def __init__(
        self,
        limits: Limits,
        spill: Spill | None,
        max_parallel_calls: int,
        packages: tuple[str, ...],
        checks: Checks,
        prompt_budget: int,
    ) -> None:
        self.packages = packages
        self.limits = limits
        self.spill = spill
        self.max_parallel_calls = max_parallel_calls
        self.prompt_budget = prompt_budget
        self.checks = checks
        self.opened: Opened | None = None

    @property
    def entered(self) -> Opened:
        """What there is while it is entered. Raises RuntimeError where it is not."""
        if self.opened is None:
            raise RuntimeError("enter it first: async with CodeMode(...) as cm")
        return self.opened
