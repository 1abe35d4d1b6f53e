"""What models and editors read: signatures, the prompt, stubs, checks, capabilities, definitions for providers.

Everything here is text made from tools and from the tables that the engine obeys. Nothing here runs a program, and
nothing here reads what a program has written.
"""

from codemode.sdk.signatures import signatures

__all__ = ["signatures"]
