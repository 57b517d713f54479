"""SASL on asyncio streams, framed as by Thrift's TSaslTransport: servers of PLAIN and DIGEST-MD5, and a client."""

from __future__ import annotations

import asyncio
import base64
import hmac
import secrets
from collections.abc import Callable

from metastore.client.errors import AuthenticationError
from metastore.client.sasl import (
    BAD,
    COMPLETE,
    ERROR,
    HEAD,
    MAX_PAYLOAD,
    OK,
    START,
    Mechanism,
    digest,
    directives,
    finish,
    rejection,
)
from spark_client.gateway.listener import Streams, close

_REALM = "default"
_PIECE = 65536  # bytes


def accept(writer: asyncio.StreamWriter, payload: bytes = b"") -> None:
    """Ends an exchange: the client is authenticated."""
    writer.write(HEAD.pack(COMPLETE, len(payload)) + payload)


def reject(writer: asyncio.StreamWriter, text: str) -> None:
    """Ends an exchange with an error. Clients show the text."""
    payload = text.encode()
    writer.write(HEAD.pack(BAD, len(payload)) + payload)


async def read_plain(reader: asyncio.StreamReader) -> tuple[str, str]:
    """Returns the user and password of a client that authenticates with PLAIN (RFC 4616).

    The caller ends the exchange with `accept` or `reject`. Raises AuthenticationError for another mechanism or message.
    """
    await _read_mechanism(reader, "PLAIN")
    identity, user, password = _three((await _receive(reader))[1])
    if not user or not password or identity not in ("", user):
        raise AuthenticationError(
            "PLAIN requires a user name, a password, and an authorization id that is empty or equal to the user name"
        )
    return user, password


async def read_digest(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, password_of: Callable[[str], str | None]
) -> tuple[str, bytes]:
    """Verifies a client that authenticates with a token by DIGEST-MD5 (RFC 2831). Returns its SASL user name, and the
    payload for `accept`.

    `password_of` returns the SASL password of a user name, or None. Raises AuthenticationError.
    """
    await _read_mechanism(reader, "DIGEST-MD5")
    await _receive(reader)  # the empty initial response
    nonce = secrets.token_urlsafe(24)
    challenge = f'realm="{_REALM}",nonce="{nonce}",charset=utf-8,algorithm=md5-sess,qop="auth"'.encode()
    writer.write(HEAD.pack(OK, len(challenge)) + challenge)
    fields = directives((await _receive(reader))[1].decode())
    user, uri, cnonce = (fields.get(name, "") for name in ("username", "digest-uri", "cnonce"))
    password = password_of(user)
    if password is None or (fields.get("nonce"), fields.get("nc"), fields.get("authzid")) != (nonce, "00000001", None):
        raise AuthenticationError("the token is not valid")
    expected = digest(user, _REALM, password, nonce, cnonce, f"AUTHENTICATE:{uri}")
    if not hmac.compare_digest(expected.encode(), fields.get("response", "").lower().encode()):
        raise AuthenticationError("the token is not valid")
    return user, f"rspauth={digest(user, _REALM, password, nonce, cnonce, f':{uri}')}".encode()


async def log_in(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, mechanism: Mechanism | None) -> None:
    """Authenticates as a client. Raises AuthenticationError with the server's text, or without a mechanism."""
    if mechanism is None:
        raise AuthenticationError("there are no credentials")
    name = mechanism.name.encode()
    writer.write(HEAD.pack(START, len(name)) + name)
    response = mechanism.step(None)
    writer.write(HEAD.pack(COMPLETE if mechanism.done else OK, len(response)) + response)
    while True:
        status, payload = await _receive(reader)
        if status in (BAD, ERROR):
            raise rejection(status, payload)
        if status == COMPLETE:
            finish(mechanism, payload)
            return
        response = mechanism.step(payload)
        writer.write(HEAD.pack(COMPLETE if mechanism.done else OK, len(response)) + response)


async def join(one: Streams, other: Streams, on_bytes: Callable[[bool], None] | None = None) -> None:
    """Passes bytes between two connections in both directions until one of them ends. Closes `other`.

    `on_bytes` is called before bytes are passed on, with whether they come from `one`.
    """

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_first: bool) -> None:
        while piece := await reader.read(_PIECE):
            if on_bytes is not None:
                on_bytes(is_first)
            writer.write(piece)
            await writer.drain()

    copies = [
        asyncio.ensure_future(copy(one[0], other[1], is_first=True)),
        asyncio.ensure_future(copy(other[0], one[1], is_first=False)),
    ]
    try:
        await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in copies:
            each.cancel()
        other[1].close()  # before this task waits: it may be cancelled meanwhile
        await asyncio.gather(*copies, return_exceptions=True)
        await close(other[1])


def sasl_name(identifier: bytes) -> str:
    """Returns the SASL form of a token's identifier or password (base64, as in Hadoop's SaslRpcServer)."""
    return base64.b64encode(identifier).decode()


async def _read_mechanism(reader: asyncio.StreamReader, expected: str) -> None:
    status, payload = await _receive(reader)
    if status != START or payload != expected.encode():
        raise AuthenticationError(f"clients must authenticate with SASL {expected}")


async def _receive(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Returns status and payload of the next message. Raises AuthenticationError if the peer does not use SASL."""
    try:
        status, length = HEAD.unpack(await reader.readexactly(HEAD.size))
        if not START <= status <= COMPLETE or length > MAX_PAYLOAD:
            raise AuthenticationError("the connection does not use SASL")
        return status, await reader.readexactly(length)
    except asyncio.IncompleteReadError:
        raise AuthenticationError("the connection ended before it was authenticated") from None


def _three(payload: bytes) -> tuple[str, str, str]:
    try:
        identity, user, password = payload.decode().split("\0")
    except ValueError:
        raise AuthenticationError("the PLAIN message is malformed") from None
    return identity, user, password
