"""Which addresses may be reached, and connections that go to these only.

A model, or a page that it reads, must not make the host talk to its own machine or network. So a name is
resolved here, once for each connection; every address it has is checked; and the connection goes to a checked
address, not to the name again. The name is still what the server is asked for (Host) and must prove (TLS).
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import httpcore
import trio

from codemode import ToolError

__all__ = ["Reach", "is_public"]

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_CONNECT_SECONDS = 5.0  # for an address that has others behind it
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_IPV4_COMPATIBLE = ipaddress.IPv6Network("::/96")
_RELAYS = ipaddress.IPv4Network("192.88.99.0/24")
_PROTOCOLS = ipaddress.IPv4Network("192.0.0.0/24")


def is_public(address: Address) -> bool:
    """Whether an address is one of the public internet, as the IANA registries of special addresses have it.

    An IPv6 address that stands for an IPv4 address is as public as that one.
    """
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address.sixtofour is not None and not is_public(address.sixtofour):
            return False
        if address in _NAT64:
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address in _IPV4_COMPATIBLE or address.is_site_local:
            return False
    elif address in _RELAYS or address in _PROTOCOLS:
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


class Reach:
    """What may be reached: every public address, and those of the given networks (`"10.1.2.0/24"`).

    Raises `ValueError` for what is no network.
    """

    def __init__(self, networks: Iterable[str] = ()) -> None:
        self._networks = tuple(ipaddress.ip_network(network) for network in networks)

    def allows(self, address: Address) -> bool:
        """Whether a connection may go to this address."""
        return is_public(address) or any(
            address.version == network.version and address in network for network in self._networks
        )

    async def addresses(self, host: str, port: int) -> list[str]:
        """Resolve a name, or take an address, and return its addresses, of which all may be reached.

        Raises `ToolError`: WEB_BLOCKED_URL if one of them may not, WEB_HOST_NOT_FOUND if there are none.
        """
        try:
            found = await trio.socket.getaddrinfo(host, port, type=trio.socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise ToolError(
                f"there is no host {host!r}: {getattr(error, 'strerror', None) or error}",
                code="WEB_HOST_NOT_FOUND",
            ) from None
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
        for text in addresses:
            # A zone (fe80::1%eth0) says which network an address is local to.
            if "%" in text or not self.allows(ipaddress.ip_address(text)):
                raise ToolError(
                    f"{host!r} is at {text}, which is no public address, and cannot be fetched from here",
                    code="WEB_BLOCKED_URL",
                )
        if not addresses:
            raise ToolError(f"there is no host {host!r}", code="WEB_HOST_NOT_FOUND")
        return addresses

    def pool(self, ssl_context: ssl.SSLContext | None) -> httpcore.AsyncConnectionPool:
        """Return a pool of connections, each of which goes to what may be reached."""
        return httpcore.AsyncConnectionPool(
            ssl_context=ssl_context, max_connections=1, network_backend=_Network(self)
        )


class _Network(httpcore.AsyncNetworkBackend):
    """Connects to checked addresses. TLS and reading are httpcore's own."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._trio = httpcore.TrioBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's interface
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses: Sequence[str] = await self._reach.addresses(host, port)
        for address in addresses[:-1]:
            shorter = _CONNECT_SECONDS if timeout is None else min(timeout, _CONNECT_SECONDS)
            try:
                return await self._trio.connect_tcp(address, port, shorter, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue  # the next one may answer
        return await self._trio.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's interface
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        raise ToolError("no sockets of this machine can be reached", code="WEB_BLOCKED_URL")

    async def sleep(self, seconds: float) -> None:
        await trio.sleep(seconds)
