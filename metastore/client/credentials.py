"""Credentials of the client, and how it verifies the server."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final, Self

from metastore.client.errors import CredentialsError
from metastore.environment import unknown_variables

PREFIX: Final = "METASTORE_CLIENT_"
_TRUE: Final = ("true", "1", "yes", "on")
_FALSE: Final = ("", "false", "0", "no", "off")


def switch(text: str, name: str) -> bool:
    """Returns the value of the option `name`, a text such as `true`. Raises CredentialsError for any other text.

    A password is not sent in plain text because of a typo.
    """
    if text.lower() not in (*_TRUE, *_FALSE):
        raise CredentialsError(f"{name} is {text!r}; it must be true or false")
    return text.lower() in _TRUE


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """Credentials and TLS options of connections. `METASTORE_CLIENT_<FIELD>` in the environment sets a field.

    Attributes:
        tls: use TLS. The server's certificate must match the host name.
        ca: PEM file of the CA certificates that verify the server's certificate. Default: the system's certificates.
        certificate: PEM file of the client's certificate.
        key: PEM file of the certificate's private key. Default: the key is in the certificate file.
        user: user name for SASL PLAIN.
        password: password for SASL PLAIN.
        jwt: JSON Web Token, sent as the password of SASL PLAIN.
        token: delegation token, as `get_delegation_token` returns it.
        kerberos: the server's principal (`hive/_HOST@REALM`) or service name (`hive`). The client uses the ticket cache
            of the process (kinit).
    """

    tls: bool = False
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    jwt: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    kerberos: str | None = None

    def __post_init__(self) -> None:
        """Raises CredentialsError for contradictory credentials."""
        methods = [name for name in ("password", "jwt", "token", "kerberos") if getattr(self, name)]
        if len(methods) > 1:
            raise CredentialsError(f"{' and '.join(methods)} are set; set only one of them")
        if self.password and not self.user:
            raise CredentialsError("password is set without user; set both")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Reads `METASTORE_CLIENT_*` from `environment` (default: of this process). Raises CredentialsError."""
        environment = os.environ if environment is None else environment
        names = {setting.name: PREFIX + setting.name.upper() for setting in fields(cls)}
        if unknown := list(unknown_variables(environment, PREFIX, names.values())):
            raise CredentialsError("; ".join(unknown))
        values = {name: environment.get(variable) or None for name, variable in names.items()}
        return cls(tls=switch(values.pop("tls") or "", names["tls"]), **values)

    @property
    def prove_a_user(self) -> bool:
        """True if the credentials authenticate a user."""
        return any((self.certificate, self.password, self.jwt, self.token, self.kerberos))

    def context(self) -> ssl.SSLContext:
        """Returns the TLS context of connections. Raises CredentialsError for unusable files."""
        try:
            context = ssl.create_default_context(cafile=self.ca)
            if self.certificate:
                context.load_cert_chain(self.certificate, self.key)
        except (OSError, ValueError) as error:
            files = ", ".join(name for name in (self.ca, self.certificate, self.key) if name)
            raise CredentialsError(f"{files}: {error}; they must be PEM files") from error
        return context
