from __future__ import annotations

import ipaddress

import pytest
import trio

from codemode import CodeMode, ToolError
from codemode.toolkits.web import FetchLimits, Reach, web
from codemode.toolkits.web.reach import is_public
from tests.toolkits.calling import failure, program_failure, value
from tests.toolkits.web.conftest import LOCAL


@pytest.mark.parametrize(
    "address",
    "127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 255.255.255.255 224.0.0.1 "
    "240.0.0.1 192.0.0.8 192.88.99.1 198.18.0.1 192.0.2.1 :: ::1 fe80::1 fc00::1 fd00:ec2::254 fec0::1 ff02::1 "
    "::ffff:127.0.0.1 ::ffff:10.0.0.1 ::127.0.0.1 ::8.8.8.8 64:ff9b::7f00:1 64:ff9b::a00:1 64:ff9b:1::808:808 "
    "2002:7f00:1:: 2002:a00:1:: 2001:db8::1 2001:0:7f00:1::".split(),
)
def test_addresses_that_are_not_public(address):
    assert is_public(ipaddress.ip_address(address)) is False


@pytest.mark.parametrize(
    "address",
    "8.8.8.8 1.1.1.1 172.32.0.1 100.128.0.1 2001:4860:4860::8888 2a00:1450::1 ::ffff:8.8.8.8 64:ff9b::808:808".split(),
)
def test_addresses_that_are_public(address):
    assert is_public(ipaddress.ip_address(address)) is True


def test_what_is_no_network_is_no_allowance():
    with pytest.raises(ValueError, match="host bits set"):
        Reach(["10.0.0.1/8"])


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "169.254.169.254",
    ],
)
async def test_an_address_of_this_machine_or_its_network_is_refused_and_nothing_is_sent(server, host):
    server.answer("/", "secret")
    async with CodeMode(web()) as cm:
        error = await failure(cm, "web_fetch", url=f"http://{host}:{server.port}/")
        assert error.code == "WEB_BLOCKED_URL"
        assert "no public address" in error.message
        assert "secret" not in error.message
    assert server.requests == []


async def test_a_name_that_leads_to_it_is_refused_also_when_only_one_of_its_addresses_does(server, names):
    names.table = {
        "inside.test": ["127.0.0.1"],
        "mixed.test": ["8.8.8.8", "127.0.0.1"],
        "local6.test": ["::1"],
    }
    server.answer("/", "secret")
    async with CodeMode(web()) as cm:
        for name in names.table:
            url = f"http://{name}:{server.port}/"
            assert (await failure(cm, "web_fetch", url=url)).code == "WEB_BLOCKED_URL"
            assert (await program_failure(cm, "web_fetch", url=url))[0] == "WEB_BLOCKED_URL"
        assert (await failure(cm, "web_fetch", url="http://none.test/")).code == "WEB_HOST_NOT_FOUND"
    assert server.requests == []


async def test_a_redirect_into_it_is_refused(server, names):
    # The first address is allowed, the second is not; both are this machine's.
    names.table = {"www.site.test": ["127.0.0.1"], "site.test": ["127.0.0.2"]}
    server.answer("/", status="302 Found", Location=f"http://site.test:{server.port}/secret")
    server.answer("/secret", "secret")
    async with CodeMode(web(reach=Reach(["127.0.0.1/32"]))) as cm:
        error = await failure(cm, "web_fetch", url=f"http://www.site.test:{server.port}/")
        assert error.code == "WEB_BLOCKED_URL"
    assert [target for _, target, _, _ in server.requests] == ["/"]


async def test_a_name_is_resolved_once_and_the_connection_goes_to_the_checked_address(server, names):
    # A resolver that answers with another address the second time finds nobody who asks twice.
    names.table = {"rebind.test": [["127.0.0.1"], ["10.0.0.1"]]}
    server.answer("/", "hello")
    async with CodeMode(web(reach=Reach([LOCAL]))) as cm:
        got = await value(cm, "web_fetch", url=f"http://rebind.test:{server.port}/")
        assert got["body"]["content"] == "hello"
        assert names.asked == ["rebind.test"]
        assert server.requests[0][2]["host"] == f"rebind.test:{server.port}"
        # The next fetch asks again, and is told something else.
        error = await failure(cm, "web_fetch", url=f"http://rebind.test:{server.port}/")
        assert error.code == "WEB_BLOCKED_URL"


async def test_tls_is_for_the_name_although_the_connection_goes_to_an_address(names, nursery):
    trustme = pytest.importorskip("trustme")
    import ssl

    authority = trustme.CA()
    theirs = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    asked = []
    theirs.sni_callback = lambda sock, name, context: asked.append(name)
    authority.issue_cert("secure.test").configure_cert(theirs)
    ours = ssl.create_default_context()
    authority.configure_trust(ours)

    async def serve(stream):
        try:
            await stream.receive_some()
            await stream.send_all(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
            )
            await stream.aclose()
        except trio.BrokenResourceError:
            pass

    (listener,) = await trio.open_ssl_over_tcp_listeners(0, theirs, host="127.0.0.1", https_compatible=True)
    port = listener.transport_listener.socket.getsockname()[1]
    nursery.start_soon(trio.serve_listeners, serve, [listener])
    names.table = {"secure.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]}
    limits = FetchLimits(ssl_context=ours)
    async with CodeMode(web(limits=limits, reach=Reach([LOCAL]))) as cm:
        assert (await value(cm, "web_fetch", url=f"https://secure.test:{port}/"))["body"]["content"] == "ok"
        error = await failure(cm, "web_fetch", url=f"https://other.test:{port}/")
        assert error.code == "WEB_FETCH_FAILED"
        assert "certificate" in error.message.lower()
    assert asked == ["secure.test", "other.test"]
    async with CodeMode(web(reach=Reach([LOCAL]))) as cm:
        error = await failure(cm, "web_fetch", url=f"https://secure.test:{port}/")
        assert error.code == "WEB_FETCH_FAILED"


async def test_of_several_addresses_one_that_answers_is_taken(server, names):
    names.table = {"many.test": ["127.0.0.9", "127.0.0.1"]}  # on the first nobody listens
    server.answer("/", "here")
    async with CodeMode(web(reach=Reach([LOCAL]))) as cm:
        assert (await value(cm, "web_fetch", url=f"http://many.test:{server.port}/"))["body"][
            "content"
        ] == "here"


async def test_resolving_says_who_is_not_there(names):
    with pytest.raises(ToolError) as caught:
        await Reach().addresses("nowhere.test", 80)
    assert caught.value.code == "WEB_HOST_NOT_FOUND"
