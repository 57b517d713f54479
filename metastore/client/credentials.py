"""What a client shows a metastore that asks who calls, and what it asks of the metastore itself."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final, Self

from metastore.client.errors import CredentialsError

PREFIX: Final = "METASTORE_CLIENT_"
_TRUE: Final = ("true", "1", "yes", "on")
_FALSE: Final = ("", "false", "0", "no", "off")


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """How to connect. `METASTORE_CLIENT_<FIELD>` in the environment sets a field.

    Attributes:
        tls: whether TLS is spoken; the server's certificate must have the host's name.
        authorities: PEM file of the authorities that sign it; unset: the system's.
        certificate, key: PEM files of a certificate of one's own.
        user, password: for SASL PLAIN.
        jwt: a token, sent in place of a password.
        token: a delegation token, as `get_delegation_token` returns it.
        kerberos: the server's principal, `hive/_HOST@REALM`, or just the service's name, `hive`; the ticket is that of
            the process (kinit).
    """

    tls: bool = False
    authorities: str | None = None
    certificate: str | None = None
    key: str | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    jwt: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    kerberos: str | None = None

    def __post_init__(self) -> None:
        """Raises CredentialsError for ones that exclude each other."""
        ways = [name for name in ("password", "jwt", "token", "kerberos") if getattr(self, name)]
        if len(ways) > 1:
            raise CredentialsError(f"{' and '.join(ways)} are given: one is shown, so give one")
        if self.password and not self.user:
            raise CredentialsError("a password is given without a user")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Raises CredentialsError."""
        environment = os.environ if environment is None else environment
        found = {setting.name: environment.get(PREFIX + setting.name.upper()) or None for setting in fields(cls)}
        tls = found.pop("tls") or ""
        if tls.lower() not in (*_TRUE, *_FALSE):  # a password would go out in the clear
            raise CredentialsError(f"{PREFIX}TLS is {tls!r}, but must be true or false")
        return cls(tls=tls.lower() in _TRUE, **found)

    @property
    def prove_a_user(self) -> bool:
        """Whether the server knows by them who calls."""
        return any((self.certificate, self.password, self.jwt, self.token, self.kerberos))

    def context(self) -> ssl.SSLContext:
        """Returns what a TLS connection is made with. Raises CredentialsError for files that cannot be used."""
        try:
            context = ssl.create_default_context(cafile=self.authorities)
            if self.certificate:
                context.load_cert_chain(self.certificate, self.key)
        except (OSError, ValueError) as error:
            files = ", ".join(name for name in (self.authorities, self.certificate, self.key) if name)
            raise CredentialsError(f"{files}: {error}; they must be PEM files") from error
        return context
