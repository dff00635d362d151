"""HTTP as far as a model's server needs it: bounded, without proxies or redirects, to one resolved address.

Everything runs in an event loop on a thread of its own, so that whoever asks may live in any loop, or in none. What a
server sends is data: it is read up to a limit and within a time, whatever it is.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2

from models.errors import ModelCrashed, ModelError
from models.fence.process import need_network
from models.servers.address import ServerAddress

Result = TypeVar("Result")

MOST_BYTES = 32 * 1024 * 1024
"""A longer body is refused: 2,048 tokens with 20 alternatives each take 4 MB."""

CONNECT_SECONDS = 5.0
CONNECTIONS = 64


class ServerGone(ModelCrashed):
    """Nobody answers there now; asking again may help."""


class ServerBusy(ServerGone):
    """It answers, and asks to be asked again later: in `retry_after` seconds, where it says so."""

    def __init__(self, message: str, *, advice: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, advice=advice)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: `body` is the JSON value, None where it is none; `text` is its beginning.

    `retry_after` are the seconds to wait before asking again, where the server names them.
    """

    status: int
    body: Any
    text: str
    retry_after: float | None = None


class Http:
    """One server's connections. Close it, or its thread stays."""

    def __init__(self, address: ServerAddress, targets: tuple[str, ...], *, key: str = "") -> None:
        need_network(
            f"the server {address} cannot be asked",
            f"Name it with --model, or allow it with --allow-host {address.place}; in the window, give it a name "
            "(`redwell models add`) and open the window again.",
        )
        self.address = address
        self._targets = targets
        self._headers = {"Host": address.place, "Accept-Encoding": "identity"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._loop = asyncio.new_event_loop()
        self._is_ending = False
        self._starting = threading.Lock()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"server {address.place}", daemon=True)
        self._thread.start()
        self._client = httpx2.AsyncClient(
            trust_env=False,
            follow_redirects=False,
            verify=address.scheme == "https",
            limits=httpx2.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
            # How long a reply takes is bounded where it is asked for.
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        )

    def start(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Run a coroutine in this server's loop; raises ModelCrashed when it has been closed."""
        with self._starting:
            if not self._is_ending:
                return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        raise ModelCrashed(f"the connection to {self.address} is closed", advice="Run the command again.")

    def wait_for(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine and wait for it, in a thread that may block; raises what it raises, or as `start`."""
        try:
            return self.start(work).result()
        except CancelledError as error:
            raise ModelCrashed(
                f"the connection to {self.address} is closed", advice="Run the command again."
            ) from error

    async def get(self, path: str, *, seconds: float) -> Answer:
        """Read a resource; `path` begins at the host. Raises ModelError."""
        return await self._send("GET", path, None, seconds)

    async def post(self, path: str, body: Any, *, seconds: float | None) -> Answer:
        """Send JSON and read the answer; raises ModelError, ServerGone, or TimeoutError after `seconds`."""
        return await self._send("POST", path, body, seconds)

    def close(self) -> None:
        """Drop all connections and end the thread; idempotent."""
        with self._starting:
            if self._is_ending:
                return
            self._is_ending = True
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._client.aclose()

    async def _send(self, method: str, path: str, body: Any, seconds: float | None) -> Answer:
        async with asyncio.timeout(seconds):
            others = list(self._targets)  # "localhost" has two addresses, and most servers listen on one
            while True:
                target = others.pop(0)
                try:
                    answer = await self._exchange(target, method, path, body)
                    self._targets = (target, *(other for other in self._targets if other != target))
                    return answer
                except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                    if not others:
                        raise self._gone(_unconnected(error)) from error
                except httpx2.HTTPError as error:
                    raise self._gone(
                        f"broke the connection off ({printable(str(error), 80) or 'no reason'})"
                    ) from error

    async def _exchange(self, target: str, method: str, path: str, body: Any) -> Answer:
        host = f"[{target}]" if ":" in target else target
        url = f"{self.address.scheme}://{host}:{self.address.port}{path}"
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        request = self._client.build_request(
            method,
            url,
            content=content,
            headers={**self._headers, **({"Content-Type": "application/json"} if content else {})},
            extensions={"sni_hostname": self.address.host},
        )
        response = await self._client.send(request, stream=True)
        try:
            self._refuse_odd(response)
            retry_after = _seconds(response.headers.get("Retry-After", ""))
            return _answer(response.status_code, await self._read(response), retry_after)
        finally:
            await response.aclose()

    def _refuse_odd(self, response: httpx2.Response) -> None:
        if 300 <= response.status_code < 400:
            to = printable(response.headers.get("Location", ""), 120)
            raise ModelError(
                f"the server {self.address} sends on to {to or 'another address'}, which is not followed",
                advice="Name the address that answers itself.",
            )
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise ModelError(
                f"the server {self.address} sends a compressed reply that was not asked for",
                advice="Turn compression off.",
            )

    async def _read(self, response: httpx2.Response) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in response.aiter_raw():
            size += len(part)
            if size > MOST_BYTES:
                raise ModelError(
                    f"the server {self.address} sends more than {MOST_BYTES // 1024**2} MiB in one reply",
                    advice="Is it a model's server?",
                )
            parts.append(part)
        return b"".join(parts)

    def _gone(self, what: str) -> ServerGone:
        return ServerGone(
            f"the server {self.address} {what}",
            advice="See whether it runs, then run the command again: replies are kept.",
        )


def _unconnected(error: httpx2.ConnectError | httpx2.ConnectTimeout) -> str:
    if isinstance(error, httpx2.ConnectTimeout):
        return f"takes no connection within {CONNECT_SECONDS:g} seconds"
    return "refuses the connection"


def _answer(status: int, content: bytes, retry_after: float | None) -> Answer:
    text = content[:2000].decode("utf-8", "replace")
    try:
        return Answer(status, json.loads(content), text, retry_after)
    except (ValueError, RecursionError):
        return Answer(status, None, text, retry_after)


def _seconds(text: str) -> float | None:
    """Read a number of seconds; None for anything else, such as a date."""
    return float(text) if text.isascii() and text.isdecimal() else None


def printable(text: str, most: int = 300) -> str:
    """Return the beginning of a server's text in one line, without control characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * most]).split())
    return line if len(line) <= most else f"{line[: most - 3]}..."
