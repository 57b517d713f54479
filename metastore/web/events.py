"""`/events/stream`: the notification log as server-sent events, with the rights of the caller."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from metastore.domain.event_stream import Wanted
from metastore.errors import InvalidInputError
from metastore.identity import AuthenticationFailedError, AuthenticationUnavailableError
from metastore.web.console.authentication import ClosedError, LoginRequiredError, Visitor
from metastore.web.event_reader import EventReader, Stream
from metastore.web.iceberg import Authenticator
from metastore.web.server import STREAM

log = logging.getLogger("metastore.events")

PATH: Final = "/events/stream"
MOST: Final = 32
"""Streams at a time. One user gets three quarters of them."""

_HEARTBEAT: Final = 15.0  # seconds without a message, after which a comment is sent
_LONGEST: Final = 600.0  # seconds; the client connects again, and is authenticated again
_STALLED: Final = 30.0  # seconds in which a client must take a message
_RETRY: Final = b"retry: 1000\n\n"  # milliseconds before a client connects again
_COMMENT: Final = b":\n\n"
_TYPE: Final = "text/event-stream"
_HEADERS: Final = {"Cache-Control": "no-store"}
_PARAMETERS: Final = ("after", "database", "table", "type", "details")


class EventRoutes:
    """Answers requests for streams."""

    def __init__(self, authenticator: Authenticator, reader: EventReader) -> None:
        self._authenticator, self._reader = authenticator, reader
        self._open: Counter[str | None] = Counter()  # by user

    def routes(self) -> list[Route]:
        return [Route(PATH, self.answer, methods=["GET"])]

    async def answer(self, request: Request) -> Response:
        """Returns the stream, or an error as a line of text."""
        try:
            visitor = await self._authenticator.visitor(request)
            wanted, after, details = _wanted(request), _after(request), request.query_params.get("details") == "true"
        except InvalidInputError as error:
            return _line(400, str(error))
        except AuthenticationUnavailableError as error:
            return _line(503, str(error))
        except (LoginRequiredError, AuthenticationFailedError) as error:
            return _line(401, str(error))
        except ClosedError as error:
            return _line(403, str(error))
        if request.method == "HEAD":
            return Response(media_type=_TYPE, headers=_HEADERS)
        if self._open.total() >= MOST or self._open[visitor.user] >= MOST - MOST // 4:
            return _line(503, f"This server has {MOST} streams of events: try again, or use another server")
        self._open[visitor.user] += 1
        return _Events(self, visitor, wanted, after, details=details)

    async def serve(
        self, send: Send, receive: Receive, visitor: Visitor, wanted: Wanted, after: int | None, *, details: bool
    ) -> None:
        """Sends messages until the client disconnects, or for the longest time of a stream."""
        loop, texts = asyncio.get_running_loop(), asyncio.Queue[bytes]()
        stream = Stream(
            visitor, wanted, after, lambda text: loop.call_soon_threadsafe(texts.put_nowait, text), details=details
        )
        ending = asyncio.ensure_future(_disconnected(receive))
        self._reader.add(stream)
        try:
            await _send_all(send, texts, ending, lambda: self._reader.sent(stream), loop.time() + _LONGEST)
        finally:
            ending.cancel()
            self._reader.remove(stream)

    def closed(self, visitor: Visitor) -> None:
        """Gives back the place of a stream."""
        self._open[visitor.user] -= 1
        self._open += Counter()  # forgets users without streams


class _Events(Response):
    """The response whose body is a stream."""

    def __init__(
        self, routes: EventRoutes, visitor: Visitor, wanted: Wanted, after: int | None, *, details: bool
    ) -> None:
        self._routes, self._visitor, self._arguments, self._details = routes, visitor, (wanted, after), details
        super().__init__(media_type=_TYPE, headers=_HEADERS)
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[STREAM] = True
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await send(_part(_RETRY))
            await self._routes.serve(send, receive, self._visitor, *self._arguments, details=self._details)
            await send(_part(b"", is_last=True))
        except TimeoutError:
            log.info("a client of %s takes no events: its connection is closed", PATH)
        finally:
            scope[STREAM] = False  # from now on, the connection has the lifetime of all others
            self._routes.closed(self._visitor)


async def _send_all(
    send: Send,
    texts: asyncio.Queue[bytes],
    ending: asyncio.Future[None],
    sent: Callable[[], None],
    until: float,
) -> None:
    """Sends the messages of a stream. Raises TimeoutError if the client takes none."""
    loop = asyncio.get_running_loop()
    while not ending.done() and (left := until - loop.time()) > 0:
        getting = asyncio.ensure_future(texts.get())
        futures: set[asyncio.Future[Any]] = {getting, ending}
        await asyncio.wait(futures, timeout=min(_HEARTBEAT, left), return_when=asyncio.FIRST_COMPLETED)
        if not getting.done():
            getting.cancel()
            await asyncio.wait_for(send(_part(_COMMENT)), _STALLED)
            continue
        if not getting.result():
            return
        await asyncio.wait_for(send(_part(getting.result())), _STALLED)
        sent()


def _part(body: bytes, *, is_last: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": not is_last}


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _wanted(request: Request) -> Wanted:
    parameters = request.query_params
    unknown = [name for name in parameters if name not in _PARAMETERS]
    if unknown:
        raise InvalidInputError(f"{unknown[0]} is no parameter. Parameters: {', '.join(_PARAMETERS)}")
    database, table = parameters.get("database"), parameters.get("table")
    if table and not database:
        raise InvalidInputError("table needs the parameter database")
    types = tuple(each.upper() for each in parameters.getlist("type"))
    return Wanted(database.lower() if database else None, table.lower() if table else None, types)


def _after(request: Request) -> int | None:
    """Returns the number after which a stream begins: the header of a client that connects again, or the parameter."""
    text = request.headers.get("last-event-id") or request.query_params.get("after")
    if text is None:
        return None
    if not text.isascii() or not text.isdecimal() or int(text) >= 2**63:
        raise InvalidInputError(f"{text[:50]} is no number of an event")
    return int(text)


def _line(status: int, text: str) -> Response:
    headers: dict[str, Any] = {}
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer, Basic realm="metastore"'
    if status == 503:
        headers["Retry-After"] = "5"
    return PlainTextResponse(f"{text}\n", status, headers=headers)
