"""Why a server cannot be used, in words: errors of the transports, of the SDK and of the validation."""

from __future__ import annotations

import httpx2
from pydantic import ValidationError

__all__ = ["described", "innermost"]


def innermost(error: BaseException) -> BaseException:
    """Return the first error within groups of them, which nurseries make."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def described(error: BaseException) -> str:
    """Return why there is no connection, in a few words."""
    error = innermost(error)
    if isinstance(error, FileNotFoundError):
        return f"there is no command {error.filename!r}"
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        return f"{first['msg']} at {'.'.join(map(str, first['loc']))}"
    if isinstance(error, httpx2.TransportError):
        return f"cannot connect: {error or type(error).__name__}"
    return str(error).strip() or type(error).__name__
