"""What a model is told before a conversation: which functions its programs have. Text only."""

from __future__ import annotations

from codemode.sdk import signatures
from codemode.tools.registry import RUN_CODE, Registry

__all__ = ["system_prompt"]


def system_prompt(registry: Registry, own: str = "") -> str:
    """Return the system prompt: `own` text, then, where programs can be run, the signatures of the functions."""
    parts = [own.strip()] if own.strip() else []
    if registry.mode != "native" and len(registry):
        parts.append(
            f"A program that you run with {RUN_CODE} has these functions, as tools.NAME(…). They are no tools of your "
            f"own: call them inside a program.\n\n{signatures(registry).strip()}"
        )
    return "\n\n".join(parts)
