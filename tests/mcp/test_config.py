"""`mcp.json` as other clients write it."""

import json

import pytest

from codemode.mcp import McpConfigError, load_config
from codemode.mcp.client.config import Http, Stdio


def load(entry, name="s", **environment):
    return load_config({"mcpServers": {name: entry}}, environment)


def test_a_command_with_its_arguments_and_variables():
    entry = {"command": "npx", "args": ["-y", "x@1"], "env": {"A": "1", "N": 2, "B": True}, "type": "stdio"}
    (server,) = load(entry)
    assert server.transport == Stdio(command="npx", args=("-y", "x@1"), env={"A": "1", "N": "2", "B": "true"})
    assert (server.name, server.prefix, server.values, server.approval) == (
        "s",
        "s",
        "protocol",
        "destructive",
    )


@pytest.mark.parametrize("kind", [None, "http", "streamable-http", "streamableHttp"])
def test_a_url_with_headers(kind):
    entry = {"url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
    (server,) = load(entry | ({"type": kind} if kind else {}), TOKEN="t0")
    assert server.transport == Http(url="https://example.org/mcp", headers={"Authorization": "Bearer t0"})


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("${A}", "a"),
        ("x${A}y${A}", "xaya"),
        ("${env:A}", "a"),
        ("${A:-other}", "a"),
        ("${NONE:-other}", "other"),
        ("${EMPTY:-other}", "other"),
        ("${EMPTY}", ""),
        ("${NONE:-}", ""),
        ("$A and {A}", "$A and {A}"),
        ("${B}", "${A}"),  # once, not again
    ],
)
def test_variables_are_put_in_everywhere(written, read):
    environment = {"A": "a", "EMPTY": "", "B": "${A}"}
    (server,) = load({"command": "c", "args": [written], "env": {"X": written}}, **environment)
    assert server.transport.args == (read,)
    assert server.transport.env == {"X": read}


def test_a_variable_that_is_not_set_is_an_error_with_the_cure():
    with pytest.raises(
        McpConfigError, match=r"server 's': the environment has no variable 'KEY'.*\$\{KEY:-default\}"
    ):
        load({"command": "c", "env": {"K": "${KEY}"}})


def test_keys_of_other_clients_are_passed_over_and_own_ones_are_checked():
    (server,) = load(
        {"command": "c", "gallery": True, "autoApprove": ["a"], "alwaysAllow": ["b"], "timeout": 5}
    )
    assert server.approved == {"a", "b"}
    own = {"values": "unwrapped", "prefix": "", "approval": "always", "timeout": 5, "optional": True}
    (server,) = load({"command": "c", "codemode": own})
    assert (server.values, server.prefix, server.approval) == ("unwrapped", "", "always")
    assert (server.timeout, server.optional) == (5.0, True)
    with pytest.raises(McpConfigError, match="unknown field prefx at codemode; there are: values, prefix"):
        load({"command": "c", "codemode": {"prefx": "x"}})
    with pytest.raises(McpConfigError, match="values: protocol, unwrapped"):
        load({"command": "c", "codemode": {"values": "raw"}})


@pytest.mark.parametrize(
    ("name", "prefix"),
    [("git-hub", "git_hub"), ("1password", "mcp_1password"), ("a.b c", "a_b_c"), ("--", "mcp"), ("é", "é")],
)
def test_a_prefix_is_made_of_the_servers_name(name, prefix):
    assert load({"command": "c"}, name)[0].prefix == prefix


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({}, "either a command to start or a url"),
        ({"command": "c", "url": "http://x"}, "either a command to start or a url"),
        ({"type": "stdio"}, "no command to start"),
        ({"type": "http"}, "start with http:// or https://"),
        ({"url": "ftp://x"}, "start with http:// or https://"),
        ({"type": "sse", "url": "http://x"}, "use type 'http'"),
        ({"type": "telepathy", "url": "http://x"}, "'telepathy' is unknown"),
        ({"command": ["c"]}, "got array at command"),
        ({"command": "c", "args": "a"}, "args"),
        ("c", "Expected object, got str"),
        (
            {"url": "http://example.org/mcp", "codemode": {"oauth": {}}},
            "its url, which has to start with https://",
        ),
        (
            {
                "url": "https://example.org/mcp",
                "codemode": {"oauth": {"issuer": "http://localhost@example.org"}},
            },
            "codemode.oauth.issuer is sent secrets, and has to start with https://",
        ),
        ({"command": "c", "codemode": {"timeout": 0}}, "seconds above 0"),
        ({"command": "c", "codemode": {"prefix": "a-b"}}, "has to be a Python name"),
        ({"command": "c", "codemode": {"prefix": "_a"}}, "has to be a Python name"),
    ],
)
def test_a_wrong_entry_is_refused_by_name_with_the_cure(entry, says):
    with pytest.raises(McpConfigError) as caught:
        load(entry)
    assert "server 's'" in str(caught.value)
    assert says in str(caught.value)


def test_a_file_is_read_and_its_directory_is_where_a_relative_one_starts(tmp_path):
    path = tmp_path / "mcp.json"
    path.write_text(
        json.dumps({"servers": {"a": {"command": "c", "cwd": "x"}, "b": {"command": "c", "disabled": True}}})
    )
    (server,) = load_config(path)
    assert server.transport.cwd == str(tmp_path / "x")


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"mcpServers": []}'])
def test_a_file_that_is_none_is_refused_by_name(tmp_path, content):
    path = tmp_path / "mcp.json"
    path.write_text(content)
    with pytest.raises(McpConfigError, match="mcp.json"):
        load_config(path)
    with pytest.raises(McpConfigError, match="cannot read"):
        load_config(tmp_path / "none.json")


@pytest.mark.parametrize(
    "url", ["http://localhost:1/mcp", "http://127.0.0.1/mcp", "http://[::1]:1/mcp", "https://a.b"]
)
def test_oauth_is_for_what_nobody_between_can_read(url):
    (server,) = load({"url": url, "codemode": {"oauth": {"issuer": url}}})
    assert server.transport.oauth.issuer == url
