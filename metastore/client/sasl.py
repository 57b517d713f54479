"""SASL client: PLAIN for passwords and JWTs, DIGEST-MD5 for delegation tokens, GSSAPI for Kerberos.

The framing is that of Thrift's TSaslTransport: a status byte and a length precede each message of the handshake.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import struct
from typing import Any, Final, Protocol

from thrift.transport.TTransport import TTransportBase, TTransportException

from metastore.client.credentials import Credentials
from metastore.client.errors import AuthenticationError, CredentialsError, LoginUnavailableError
from metastore.domain.delegation_tokens import parse_token

START, OK, BAD, ERROR, COMPLETE = 1, 2, 3, 4, 5
HEAD: Final = struct.Struct("!BI")
_LENGTH: Final = struct.Struct("!I")
MAX_PAYLOAD: Final = 2**16  # bytes of a handshake message
_PROTECTION: Final = {1: "authentication", 2: "integrity", 4: "privacy"}


class Mechanism(Protocol):
    """One SASL exchange on the client's side.

    Attributes:
        name: registered name of the mechanism.
        done: whether the client has completed the exchange.
        wraps: whether `wrap` and `unwrap` protect the data after the exchange.
    """

    name: str
    done: bool
    wraps: bool

    def step(self, challenge: bytes | None) -> bytes:
        """Returns the response to a challenge; None asks for the initial response."""

    def wrap(self, data: bytes) -> bytes: ...

    def unwrap(self, data: bytes) -> bytes: ...


class SaslTransport(TTransportBase):  # type: ignore[misc]
    """A Thrift transport over SASL. After the handshake, each frame is preceded by its length (four bytes)."""

    def __init__(self, below: Any, mechanism: Mechanism) -> None:
        self._below = below
        self._mechanism = mechanism
        self._out: list[bytes] = []
        self._in = b""
        self._at = 0

    def open(self) -> None:
        """Authenticates. The transport below must be open.

        Raises AuthenticationError if the server rejects the credentials, TTransportException if it does not use SASL.
        """
        mechanism = self._mechanism
        self._send(START, mechanism.name.encode())
        response = mechanism.step(None)
        self._send(COMPLETE if mechanism.done else OK, response)
        while True:
            status, payload = self._receive()
            if status == COMPLETE:
                finish(mechanism, payload)
                return
            response = mechanism.step(payload)
            self._send(COMPLETE if mechanism.done else OK, response)

    def read(self, sz: int) -> bytes:
        while self._at >= len(self._in):
            length = _LENGTH.unpack(self._below.readAll(_LENGTH.size))[0]
            piece = self._below.readAll(length) if length else b""
            self._in, self._at = (self._mechanism.unwrap(piece) if self._mechanism.wraps else piece), 0
        data = self._in[self._at : self._at + sz]
        self._at += len(data)
        return data

    def write(self, buf: bytes) -> None:
        self._out.append(buf)

    def flush(self) -> None:
        data, self._out = b"".join(self._out), []
        if self._mechanism.wraps:
            data = self._mechanism.wrap(data)
        self._below.write(_LENGTH.pack(len(data)) + data)
        self._below.flush()

    def _send(self, status: int, payload: bytes) -> None:
        self._below.write(HEAD.pack(status, len(payload)) + payload)
        self._below.flush()

    def _receive(self) -> tuple[int, bytes]:
        status, length = HEAD.unpack(self._below.readAll(HEAD.size))
        if length > MAX_PAYLOAD or status not in (OK, BAD, ERROR, COMPLETE):
            raise TTransportException(
                message="the server does not use SASL on this port: set no credentials, or use another port"
            )
        payload = self._below.readAll(length) if length else b""
        if status in (BAD, ERROR):
            raise rejection(status, payload)
        return status, payload


def rejection(status: int, payload: bytes) -> AuthenticationError:
    """Returns the error of a server that has ended the exchange with BAD or ERROR."""
    text = payload.decode(errors="replace")
    return LoginUnavailableError(text) if status == ERROR else AuthenticationError(text)


def finish(mechanism: Mechanism, payload: bytes) -> None:
    """Processes the server's last message. Raises AuthenticationError if the server has not proved its identity.

    Without this check, a server in the middle could end the exchange at once, and get calls without protection.
    """
    if not mechanism.done:
        mechanism.step(payload)
    if not mechanism.done:
        raise AuthenticationError("the server ended the exchange before it proved its identity")


class _Unprotected:
    """Base of mechanisms without a security layer after the exchange."""

    done = False
    wraps = False

    def wrap(self, data: bytes) -> bytes:
        return data

    unwrap = wrap


class Plain(_Unprotected):
    """PLAIN (RFC 4616)."""

    name = "PLAIN"

    def __init__(self, user: str, password: str) -> None:
        self._answer = f"\0{user}\0{password}".encode()

    def step(self, _challenge: bytes | None) -> bytes:
        self.done = True
        return self._answer


class DigestMd5(_Unprotected):
    """DIGEST-MD5 (RFC 2831) with qop=auth, as Hadoop uses it for delegation tokens."""

    name = "DIGEST-MD5"

    def __init__(self, user: str, password: str) -> None:
        self._user, self._password = user, password
        self._expected = ""

    def step(self, challenge: bytes | None) -> bytes:
        if challenge is None:
            return b""
        if self._expected:
            if f"rspauth={self._expected}".encode() not in challenge:
                raise AuthenticationError("the server could not prove that it knows the token's password")
            self.done = True
            return b""
        fields = directives(challenge.decode())
        realm, nonce = fields.get("realm", ""), fields.get("nonce", "")
        cnonce, uri = secrets.token_hex(16), "null/default"
        response = digest(self._user, realm, self._password, nonce, cnonce, f"AUTHENTICATE:{uri}")
        self._expected = digest(self._user, realm, self._password, nonce, cnonce, f":{uri}")
        return (
            f'charset=utf-8,username="{self._user}",realm="{realm}",nonce="{nonce}",nc=00000001,cnonce="{cnonce}",'
            f'digest-uri="{uri}",maxbuf=65536,response={response},qop=auth'
        ).encode()


def directives(text: str) -> dict[str, str]:
    """Parses the directives `name=value` of a challenge or response (RFC 2831, section 7.1)."""
    parsed, rest = {}, text
    while rest:
        name, _, rest = rest.partition("=")
        if rest.startswith('"'):
            value, _, rest = rest[1:].partition('"')
            rest = rest.partition(",")[2]
        else:
            value, _, rest = rest.partition(",")
        parsed[name.strip(" ,")] = value
    return parsed


def digest(user: str, realm: str, password: str, nonce: str, cnonce: str, a2: str) -> str:
    """Returns the response value of RFC 2831, section 2.1.2.1, in hexadecimal, for nc=1 and qop=auth."""

    def md5(data: bytes) -> Any:
        return hashlib.md5(data, usedforsecurity=False)

    a1 = md5(f"{user}:{realm}:{password}".encode()).digest() + f":{nonce}:{cnonce}".encode()
    inner = f"{nonce}:00000001:{cnonce}:auth:{md5(a2.encode()).hexdigest()}"
    return str(md5(f"{md5(a1).hexdigest()}:{inner}".encode()).hexdigest())


class Gssapi:
    """GSSAPI (RFC 4752): Kerberos with the ticket cache of the process. Needs the package gssapi."""

    name = "GSSAPI"

    def __init__(self, service: str) -> None:
        """Prepares a context for the principal or `service@host` of the server.

        Raises CredentialsError if the package gssapi is not installed.
        """
        try:
            import gssapi
        except ImportError:
            raise CredentialsError(
                "Kerberos needs the package gssapi: run  pip install 'metastore[kerberos]'"
            ) from None
        self._gssapi = gssapi
        kind = gssapi.NameType.kerberos_principal if "/" in service else gssapi.NameType.hostbased_service
        flags = gssapi.RequirementFlag.mutual_authentication | gssapi.RequirementFlag.out_of_sequence_detection
        flags |= gssapi.RequirementFlag.integrity | gssapi.RequirementFlag.confidentiality
        self._context = gssapi.SecurityContext(name=gssapi.Name(service, kind), flags=flags, usage="initiate")
        self.done = False
        self.wraps = False
        self._encrypts = False

    def step(self, challenge: bytes | None) -> bytes:
        """Returns the next token. Raises AuthenticationError, for example without a ticket or for a wrong principal."""
        try:
            if not self._context.complete:
                return self._context.step(challenge or None) or b""
            return self._choose(self._context.unwrap(challenge or b"").message)
        except self._gssapi.exceptions.GSSError as error:
            raise AuthenticationError(f"Kerberos: {' '.join(error.gen_message().split())}") from error

    def _choose(self, offer: bytes) -> bytes:
        """Selects the strongest security layer that the server offers, and returns the final response."""
        chosen = max((bit for bit in _PROTECTION if offer[0] & bit), default=0)
        if not chosen:
            raise AuthenticationError("No common protection layer between client and server")
        self.wraps, self._encrypts, self.done = chosen > 1, chosen == 4, True
        return bytes(self._context.wrap(bytes([chosen]) + offer[1:4], encrypt=False).message)

    def wrap(self, data: bytes) -> bytes:
        return bytes(self._context.wrap(data, encrypt=self._encrypts).message)

    def unwrap(self, data: bytes) -> bytes:
        try:
            return bytes(self._context.unwrap(data).message)
        except self._gssapi.exceptions.GSSError as error:
            raise TTransportException(message=f"Kerberos: {error}") from error


def mechanism_of(credentials: Credentials, host: str) -> Mechanism | None:
    """Returns the SASL mechanism for the credentials, or None if they need no SASL. Raises CredentialsError."""
    if credentials.password:
        return Plain(credentials.user or "", credentials.password)
    if credentials.jwt:
        return Plain(credentials.user or "jwt", credentials.jwt)
    if credentials.token:
        return DigestMd5(*_token_credentials(credentials.token))
    if credentials.kerberos:
        service = credentials.kerberos.replace("_HOST", host.lower())
        return Gssapi(service if "/" in service else f"{service}@{host}")
    return None


def _token_credentials(text: str) -> tuple[str, str]:
    """Returns the SASL user and password of a delegation token (base64, as in Hadoop's SaslRpcServer)."""
    try:
        identifier, password = parse_token(text)
    except ValueError as error:
        raise CredentialsError(
            f"The token is not a delegation token: {error}. Get one with get_delegation_token."
        ) from error
    return base64.b64encode(identifier).decode(), base64.b64encode(password).decode()
