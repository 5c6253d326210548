"""Transport of httpx with the rules of `http_call`: checked addresses only, no proxy, answers of limited size.

For libraries that take an `httpx.AsyncClient`, such as the A2A client.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from functools import partial

import httpx

from ...models.errors import AgentFailed
from ..tables import Network
from .http_call import Resolve, resolve_checked, with_timeout

#: Seconds of the DNS look-up and of the connection.
CONNECT_TIMEOUT_S = 10.0


class CheckedTransport(httpx.AsyncBaseTransport):
    """Transport that connects to checked addresses of one host.

    Args:
        host: The host; requests to another one are refused, so that no token gets there.
        networks: Private networks that may be called.
        max_bytes: Maximum size of the body of an answer.
    """

    def __init__(
        self,
        host: str,
        *,
        networks: Sequence[Network],
        max_bytes: int,
        resolve: Resolve = socket.getaddrinfo,
    ) -> None:
        self._host = host.lower()
        self._networks = networks
        self._max_bytes = max_bytes
        self._resolve = with_timeout(CONNECT_TIMEOUT_S, resolve)
        self._inner = httpx.AsyncHTTPTransport(verify=ssl.create_default_context(), trust_env=False)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request to a checked address.

        Raises:
            AgentFailed: The address may not be called, its look-up failed, or the answer is compressed.
        """
        host, is_encrypted = request.url.host, request.url.scheme == "https"
        if host.lower() != self._host:
            raise AgentFailed(f"requests to {host} are not allowed, only to {self._host}", retryable=False)
        check = partial(
            resolve_checked, networks=self._networks, is_encrypted=is_encrypted, resolve=self._resolve
        )
        addresses = await asyncio.to_thread(check, host, request.url.port or (443 if is_encrypted else 80))
        request.headers["Accept-Encoding"] = "identity"  # httpx decodes a body after its size was counted
        response = await self._send(request, [address for address, _ in addresses])
        if not isinstance(response.stream, httpx.AsyncByteStream):  # the inner transport is async
            raise TypeError(type(response.stream))
        if (encoding := response.headers.get("content-encoding", "identity").lower()) != "identity":
            await response.stream.aclose()
            raise AgentFailed(f"{host} answered with content encoding {encoding[:80]!r}", retryable=False)
        response.stream = _LimitedStream(response.stream, host, self._max_bytes)
        return response

    async def _send(self, request: httpx.Request, addresses: Sequence[str]) -> httpx.Response:
        """Send to the first address that accepts a connection; the certificate must be for the name."""
        name = request.url.host
        extensions = {**request.extensions, "sni_hostname": name}
        for address in addresses[:-1]:
            try:
                return await self._inner.handle_async_request(_to_address(request, address, extensions))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        return await self._inner.handle_async_request(_to_address(request, addresses[-1], extensions))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


def _to_address(request: httpx.Request, address: str, extensions: dict[str, object]) -> httpx.Request:
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,  # with the Host of the name
        stream=request.stream,
        extensions=extensions,
    )


class _LimitedStream(httpx.AsyncByteStream):
    """Body of an answer that fails if it is too large."""

    def __init__(self, inner: httpx.AsyncByteStream, host: str, max_bytes: int) -> None:
        self._inner = inner
        self._host = host
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._max_bytes
        async for chunk in self._inner:
            left -= len(chunk)
            if left < 0:
                raise AgentFailed(f"{self._host} answered more than {self._max_bytes} bytes", retryable=False)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
