"""What one listener asks of those who come, and what it answers, in their own protocol, those who do otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

from metastore.identity import CERTIFICATE, JWT, KERBEROS, PASSWORD, TOKEN, Identity, Mechanism
from metastore.transport.tls import OFF, REQUIRED, Certificate

_WAYS: Final = {
    CERTIFICATE: "TLS with a client's certificate",
    KERBEROS: "Kerberos (hive.metastore.sasl.enabled=true)",
    TOKEN: "a delegation token",
    PASSWORD: "a password (SASL PLAIN: hive.metastore.client.auth.mode=PLAIN)",
    JWT: "a JWT (hive.metastore.client.auth.mode=JWT)",
}


class Authenticator(Protocol):
    """Who knows the users, in each worker."""

    def mechanism(self, name: str, methods: frozenset[str], *, encrypted: bool) -> Mechanism:
        """Begins a SASL mechanism. Raises AuthenticationFailedError where it is not one of these methods'."""

    def certificate(self, certificate: dict[str, Any]) -> Identity:
        """Tells whose certificate (`ssl.SSLSocket.getpeercert`) that is. Raises AuthenticationFailedError."""

    def bearer(self, token: str, *, encrypted: bool) -> Identity:
        """Tells whose JWT that is. May take its time. Raises AuthenticationFailedError."""


@dataclass(frozen=True, kw_only=True)
class Listener:
    """One listener.

    Attributes:
        host, port: as in TransportOptions.
        tls: off, allowed or required.
        authentication: the methods (`metastore.identity.METHODS`) of which one must be used; none: nobody is asked.
        client_certificates: off, optional or required.
        certificate: the server's, where TLS is not off.
        authenticator: who knows the users; there where anybody is asked.
        full: why nobody more is let in, which who comes is told; empty: all are let in.
    """

    host: str = "127.0.0.1"
    port: int = 9083
    tls: str = OFF
    authentication: frozenset[str] = frozenset()
    client_certificates: str = OFF
    certificate: Certificate | None = None
    authenticator: Authenticator | None = None
    full: str = ""

    @property
    def restricted(self) -> bool:
        """Whether anything is asked of those who come, so that they do not have a connection's time and memory yet."""
        return self.tls == REQUIRED or bool(self.authentication or self.full)

    def refusal(self, identity: Identity | None, *, encrypted: bool) -> str:
        """Tells why somebody may not call; empty: they may."""
        if self.full:
            return self.full
        if self.tls == REQUIRED and not encrypted:
            return "This metastore speaks TLS only (METASTORE_TLS=required): set hive.metastore.use.SSL=true"
        if self.authentication and identity is None:
            return f"This metastore asks who calls (METASTORE_AUTHENTICATION={self.methods}): use {self.ways}"
        return ""

    @property
    def methods(self) -> str:
        """The methods as the setting has them."""
        return ",".join(method for method in _WAYS if method in self.authentication) or "none"

    @property
    def ways(self) -> str:
        """The methods as a client is told them."""
        return " or ".join(text for method, text in _WAYS.items() if method in self.authentication)
