"""The policy of one listening address: which protocols and authentication methods it accepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from metastore.addresses import Network, contains
from metastore.identity import (
    CERTIFICATE,
    JWT,
    KERBEROS,
    PASSWORD,
    TOKEN,
    AuthenticationFailedError,
    AuthenticationUnavailableError,
    Identity,
    Mechanism,
)
from metastore.transport.certificate import OFF, REQUIRED, Certificate

_METHOD_TEXTS: Final = {
    CERTIFICATE: "TLS with a client certificate",
    KERBEROS: "Kerberos (hive.metastore.sasl.enabled=true)",
    TOKEN: "a delegation token",
    PASSWORD: "a password (SASL PLAIN: hive.metastore.client.auth.mode=PLAIN)",
    JWT: "a JWT (hive.metastore.client.auth.mode=JWT)",
}


class Authenticator(Protocol):
    """Verifies the credentials of clients. One in each worker. Methods raise AuthenticationFailedError."""

    def mechanism(self, name: str, methods: frozenset[str], *, encrypted: bool, peer: str) -> Mechanism:
        """Starts a SASL mechanism for the client at `peer` ("host:port"); fails if none of `methods` uses it."""

    def certificate(self, certificate: dict[str, Any]) -> Identity:
        """Returns the user of a verified client certificate (`ssl.SSLSocket.getpeercert`)."""

    def bearer(self, token: str, *, encrypted: bool) -> Identity:
        """Verifies a JWT and returns its user. May block."""

    def failed(self, error: AuthenticationFailedError, peer: str) -> None:
        """Records a failed login. Raises nothing."""

    def ended(self, identities: Sequence[Identity]) -> list[str]:
        """Returns for each identity the reason why its connections have to end, or an empty text. May block."""


@dataclass(frozen=True, kw_only=True)
class Listener:
    """The policy of one listening address.

    Attributes:
        host: name or address to listen on; "0.0.0.0" or "::" for all interfaces.
        port: TCP port; 0 picks a free one (`serve` reports it).
        tls: off, allowed or required.
        authentication: accepted methods (`metastore.identity.METHODS`); empty: no authentication is required.
        client_certificates: off, optional or required.
        certificate: the server certificate; None if TLS is off.
        authenticator: set in the workers if authentication is required.
        proxies: networks whose connections begin with a header of the PROXY protocol.
        full: error text for a connection over a limit; empty for others.
    """

    host: str = "127.0.0.1"
    port: int = 9083
    tls: str = OFF
    authentication: frozenset[str] = frozenset()
    client_certificates: str = OFF
    certificate: Certificate | None = None
    authenticator: Authenticator | None = None
    proxies: tuple[Network, ...] = ()
    full: str = ""

    @property
    def restricted(self) -> bool:
        """Whether a client has to authenticate or use TLS before it may call. Until then, its time and memory are
        limited."""
        return self.tls == REQUIRED or bool(self.authentication or self.full)

    def is_proxy(self, peer: str) -> bool:
        """Returns whether the peer at "host:port" is a proxy that names its clients."""
        return bool(self.proxies) and contains(self.proxies, peer)

    def refusal(self, identity: Identity | None, *, encrypted: bool) -> str:
        """Returns the reason why a client may not call, or an empty text."""
        if self.full:
            return self.full
        if self.tls == REQUIRED and not encrypted:
            return "This metastore requires TLS (METASTORE_TLS=required): set hive.metastore.use.SSL=true"
        if self.authentication and identity is None:
            methods = [method for method in _METHOD_TEXTS if method in self.authentication]
            texts = " or ".join(_METHOD_TEXTS[method] for method in methods)
            return f"This metastore requires authentication (METASTORE_AUTHENTICATION={','.join(methods)}): use {texts}"
        return ""

    def mechanism(self, peer: str, name: str, *, encrypted: bool) -> Mechanism:
        """Starts a SASL mechanism. Raises AuthenticationFailedError if it is not offered on this connection."""
        if self.full:
            raise AuthenticationUnavailableError(self.full)
        if self.tls == REQUIRED and not encrypted:
            raise AuthenticationFailedError(self.refusal(None, encrypted=False))
        if self.authenticator is None:
            raise AuthenticationFailedError(
                "This metastore requires no authentication (METASTORE_AUTHENTICATION=none): "
                "set hive.metastore.sasl.enabled=false"
            )
        return self.authenticator.mechanism(name, self.authentication, encrypted=encrypted, peer=peer)
