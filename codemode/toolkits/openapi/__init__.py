"""An HTTP API as tools, from its OpenAPI document (3.0, 3.1). Needs the extra `codemode[openapi]`.

document.py     the document, and where its references lead
schemas.py      its schemas as JSON Schema that stands on its own
operations.py   an operation: arguments, body, responses
styles.py       how parameters are written
bodies.py       bodies of requests and responses
calling.py      one call over HTTP
tools.py        operations as tools
"""

from __future__ import annotations

try:  # only to see whether they are there
    import httpx  # noqa: F401
    import openapi_pydantic  # noqa: F401
    import referencing  # noqa: F401
    import yaml  # type: ignore[import-untyped]  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"the openapi toolkit needs {error.name}; install it with: pip install 'codemode[openapi]'"
    ) from error

from codemode.toolkits.openapi.calling import ApiLimits, Authenticate
from codemode.toolkits.openapi.tools import OpenAPITools, openapi

__all__ = ["ApiLimits", "Authenticate", "OpenAPITools", "openapi"]
