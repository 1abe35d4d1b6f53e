"""What a model is told before a conversation: which functions its programs have. Text only."""

from __future__ import annotations

from codemode.tools.registry import RUN_CODE, Registry

__all__ = ["system_prompt"]


def system_prompt(registry: Registry, own: str = "") -> str:
    """Return the system prompt: `own` text, then, where programs can be run, the signatures of the functions."""
    parts = [own.strip()] if own.strip() else []
    if registry.mode != "native":
        signatures = "\n".join(_signature(each.signature, each.description) for each in registry)
        if signatures:
            parts.append(
                f"In a program that you run with {RUN_CODE}, these functions can be called as tools.NAME(…). "
                f"They are no tools of your own: call them inside a program.\n\n{signatures}"
            )
    return "\n\n".join(parts)


def _signature(signature: str, description: str) -> str:
    first = description.strip().partition("\n")[0]
    return f"tools.{signature}" + (f"  # {first}" if first else "")
