"""The server of these tests."""

import pytest

from tests.toolkits.openapi.api import Api


@pytest.fixture
def api(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    server = Api()
    yield server
    server.close()
