"""Servers that want OAuth: logins, what is kept of them, client credentials, and everything that can be refused."""

import contextlib
import json
import os
import stat
import time

import httpx2
import pytest
import trio

from codemode import CodeMode
from codemode.mcp import McpConfigError, McpError, load_config, mcp_tools
from codemode.mcp.client import oauth as oauth_module
from codemode.mcp.client.connection import Connection
from codemode.mcp.client.redirect import _answer
from codemode.mcp.client.tokens import TokensFile

from .authorization import Person, world


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Where tokens go when no file is named."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "codemode" / "mcp"


def config(there, **oauth):
    return {"mcpServers": {"far": {"url": there.resource, "codemode": {"oauth": oauth}}}}


async def use(there, login=None, **oauth):
    """Connect, call a tool once, and go."""
    async with mcp_tools(config(there, **oauth), login=login) as tools, CodeMode(tools) as cm:
        return (await cm.run("return tools.far_double(n=4)['structuredContent']['result']")).result


async def test_a_person_logs_in_once_and_what_came_of_it_is_kept(kept):
    async with world() as there, trio.open_nursery() as nursery:
        person = Person(nursery)
        assert await use(there, person) == 8
        ((name, url),) = person.opened
        assert (name, url.startswith(f"{there.issuer}/authorize?response_type=code")) == ("far", True)
        assert "The login is done." in person.pages[0]
        (file,) = kept.iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(kept.stat().st_mode) == 0o700
        assert await use(there) == 8  # another process: nobody has to log in
        assert there.paths.count("/register") == there.paths.count("/authorize") == 1


async def test_tokens_that_have_ended_are_renewed_without_a_person(kept):
    async with world() as there, trio.open_nursery() as nursery:
        assert await use(there, Person(nursery)) == 8
        (file,) = kept.iterdir()
        file.write_text(json.dumps(json.loads(file.read_text()) | {"expiresAt": time.time() - 1}))
        there.forget_access()
        before = len(there.asked)
        assert await use(there) == 8
        assert there.paths[before:] == [
            "/token"
        ]  # at the server that gave them, which nothing had to look up
        assert json.loads(file.read_text())["expiresAt"] > time.time() + 3000
        assert await use(there) == 8
        assert there.paths[before:] == ["/token"]


async def test_a_login_is_asked_for_again_when_nothing_can_be_renewed_and_only_then(kept):
    async with world() as there, trio.open_nursery() as nursery:
        person = Person(nursery)
        assert await use(there, person) == 8
        there.forget_access()
        there.refresh.clear()
        with pytest.raises(McpError, match="wants a login, and nobody is there to log in; run a command"):
            await use(there)
        assert await use(there, person) == 8
        assert len(person.opened) == 2
        assert there.paths.count("/register") == 1  # with the client, and its address, of the first time


async def test_an_authorization_that_ends_in_the_middle_is_asked_for_while_connecting_again(kept):
    async with world() as there, trio.open_nursery() as nursery:
        person = Person(nursery)
        async with mcp_tools(config(there), login=person) as tools, CodeMode(tools) as cm:
            there.forget_access()
            there.refresh.clear()
            first = await cm.call("far_double", {"n": 4})
            assert first.error.code in ("MCP_CONNECTION_LOST", "MCP_UNAVAILABLE")
            with trio.fail_after(20):
                while (again := await cm.call("far_double", {"n": 4})).is_error:
                    await trio.sleep(0.1)
            assert again.value["structuredContent"] == {"result": 8}
            assert len(person.opened) == 2


async def test_a_login_that_is_refused_says_so_and_is_not_asked_for_over_and_over(kept):
    async with world() as there, trio.open_nursery() as nursery:
        person, there.refuses_login = Person(nursery), True
        with pytest.raises(McpError, match=r"the login was refused: access_denied: not\\x1b\[2J today"):
            await use(there, person)
        assert "The login is refused." in person.pages[0]
        entry = config(there)
        entry["mcpServers"]["far"]["codemode"]["optional"] = True
        async with mcp_tools(entry, login=person) as tools:
            await trio.sleep(0.8)  # longer than the first pause
            assert "refused" in tools.servers["far"].problem
        assert len(person.opened) == 2


async def test_nobody_who_logs_in_is_waited_for_and_longer_than_for_a_server(kept, monkeypatch):
    monkeypatch.setattr(oauth_module, "LOGIN_SECONDS", 0.3)
    monkeypatch.setattr("codemode.mcp.client.connection.START_SECONDS", 0.2)
    async with world() as there:
        with pytest.raises(McpError, match=r"nobody logged in within 0.3 s"):
            await use(there, lambda name, url: None)


async def test_a_login_that_cannot_be_asked_for_says_why(kept):
    def broken(name, url):
        raise OSError("no display")

    async with world() as there:
        with pytest.raises(McpError, match="asking for a login failed: OSError: no display"):
            await use(there, broken)


async def test_whoever_waits_for_a_login_can_stop(kept):
    async with world() as there:
        asked = trio.Event()
        (server,) = load_config(config(there))
        connection = Connection(server, lambda listing: None, lambda name, url: asked.set())
        with trio.fail_after(5):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(connection.run)
                await asked.wait()
                connection.close()


async def test_only_the_browser_of_this_login_ends_it(kept):
    async with world() as there, trio.open_nursery() as nursery:
        person, answers = Person(nursery), []

        async def attacked(name, url):
            back = httpx2.QueryParams(httpx2.URL(url).query)["redirect_uri"]
            async with httpx2.AsyncClient() as other:
                tries = [
                    back + query for query in ("", "?code=x", "?code=x&state=wrong", "?error=e&state=wrong")
                ]
                answers.extend(
                    [await other.get(each) for each in [*tries, back.replace("callback", "other")]]
                )
                answers.append(await other.post(back, content=b"x"))
            stream = await trio.open_tcp_stream("127.0.0.1", httpx2.URL(back).port)
            with contextlib.suppress(trio.BrokenResourceError):
                await stream.send_all(b"junk\r\n\r\n" + b"x" * 100_000)
            person(name, url)

        assert await use(there, attacked) == 8
        assert [each.status_code for each in answers] == [400] * 6


async def test_a_server_without_a_person_has_client_credentials(kept, monkeypatch):
    async with world() as there:
        client = there.add_client("s3cret:%", grants=["client_credentials"])
        monkeypatch.setenv("CLIENT_SECRET", "s3cret:%")
        given = {"clientId": client, "clientSecret": "${CLIENT_SECRET}", "issuer": there.issuer}
        assert await use(there, grant="client_credentials", **given) == 8
        assert there.paths == ["/.well-known/oauth-authorization-server", "/token"]
        assert not kept.exists()
        with pytest.raises(McpError, match=r"invalid_client"):
            await use(there, grant="client_credentials", **(given | {"clientSecret": "wrong"}))
        with pytest.raises(McpError, match="issuer"):
            await use(there, grant="client_credentials", **(given | {"issuer": "http://127.0.0.1:9"}))


async def test_a_client_that_was_registered_beforehand_and_a_file_of_ones_own(kept, tmp_path):
    async with world() as there, trio.open_nursery() as nursery:
        port = _free_port()
        client = there.add_client("s", uris=[f"http://127.0.0.1:{port}/callback"])
        given = {
            "clientId": client,
            "clientSecret": "s",
            "port": port,
            "tokens": str(tmp_path / "own" / "far.json"),
        }
        assert await use(there, Person(nursery), **given) == 8
        assert "/register" not in there.paths
        assert (tmp_path / "own" / "far.json").exists()
        assert not kept.exists()


async def test_a_file_that_cannot_be_used_says_why(tmp_path):
    async with world() as there:
        file = tmp_path / "tokens.json"
        for text, says in (
            ("junk", "holds no tokens; delete it, and log in again"),
            (
                json.dumps({"server": "http://other/mcp"}),
                "holds the tokens of http://other/mcp; give each server",
            ),
        ):
            file.write_text(text)
            with pytest.raises(McpError, match=says):
                await use(there, lambda name, url: None, tokens=str(file))
            assert file.read_text() == text
        with pytest.raises(McpError, match="cannot read the tokens"):
            await use(there, lambda name, url: None, tokens=str(tmp_path))


async def test_a_port_that_is_taken_says_so(kept):
    async with world() as there:
        port = int(there.issuer.rpartition(":")[2])
        with pytest.raises(McpError, match=rf"port {port}, where the login leads back to, cannot be used"):
            await use(there, lambda name, url: None, port=port)


async def test_a_server_that_wants_authorization_says_what_to_write():
    async with world() as there:
        plain = {"mcpServers": {"far": {"url": there.resource}}}
        with pytest.raises(
            McpError, match=r'HTTP 401; it offers OAuth: put "codemode": \{"oauth": \{\}\} into'
        ):
            async with mcp_tools(plain):
                raise AssertionError
        plain["mcpServers"]["far"]["headers"] = {"authorization": "Bearer old"}
        with pytest.raises(McpError, match=r"HTTP 401; check the headers in its entry"):
            async with mcp_tools(plain):
                raise AssertionError


@pytest.mark.parametrize(
    ("oauth", "says"),
    [
        ({"grant": "client_credentials"}, "needs clientId, clientSecret and issuer"),
        ({"grant": "password"}, "oauth.grant: authorization_code, client_credentials"),
        ({"scopes": "a"}, "there are: grant, clientId, clientSecret, issuer, port, tokens"),
        ({"clientSecret": "x"}, "has a clientSecret and no clientId"),
        ({"port": 70000}, "write a port from 1 to 65535"),
        ({"issuer": "nowhere"}, "issuer has to start with"),
        ({"clientId": "${NONE}"}, "no variable 'NONE'"),
    ],
)
def test_what_is_written_wrong_is_said(oauth, says):
    entry = {"url": "https://host/mcp", "codemode": {"oauth": oauth}}
    with pytest.raises(McpConfigError, match=says):
        load_config({"mcpServers": {"far": entry}}, {})


def test_oauth_is_for_a_url_and_in_place_of_a_header():
    for entry, says in (
        ({"command": "x"}, "is for a server with a url"),
        ({"url": "https://h", "headers": {"authorization": "x"}}, "either codemode.oauth or a header"),
    ):
        with pytest.raises(McpConfigError, match=says):
            load_config({"mcpServers": {"far": entry | {"codemode": {"oauth": {}}}}}, {})


def _free_port():
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.mark.parametrize("what", ["authorize", "token"])
async def test_nothing_is_sent_where_others_can_read_it_whoever_named_the_address(kept, what):
    async with world() as there, trio.open_nursery() as nursery:
        there.elsewhere[what] = "http://192.0.2.1"
        person = Person(nursery)
        with pytest.raises(McpError, match=rf"leads to http://192.0.2.1/{what}, where others can read"):
            await use(there, person)
        assert len(person.opened) == (what == "token")


async def test_a_browser_that_reads_no_page_has_brought_the_code_all_the_same():
    class Gone(trio.abc.AsyncResource):
        async def receive_some(self, most):
            return b"GET /callback?state=s&code=c HTTP/1.1\r\nHost: here\r\n\r\n"

        async def send_all(self, data):
            raise trio.BrokenResourceError

        async def aclose(self):
            pass

    send, receive = trio.open_memory_channel(1)
    await _answer("s", send, Gone())
    assert receive.receive_nowait().code == "c"


def test_tokens_are_on_the_disk_before_they_take_the_place_of_others(tmp_path, monkeypatch):
    done = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (done.append(os.fstat(file).st_size), fsync(file)))
    monkeypatch.setattr(os, "replace", lambda *files: (done.append("replaced"), replace(*files)))
    file = tmp_path / "t.json"
    TokensFile(file, "https://a.b")._save()
    assert done == [file.stat().st_size, "replaced"]


async def test_a_connection_that_never_got_ready_does_not_seem_to_be_getting_ready():
    (server,) = load_config({"mcpServers": {"far": {"url": "http://127.0.0.1:1/mcp"}}})
    connection = Connection(server, lambda listing: None, None)
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(connection.run)
            await connection.tried.wait()
            assert connection.problem
            assert connection._getting_ready is None
            nursery.cancel_scope.cancel()
