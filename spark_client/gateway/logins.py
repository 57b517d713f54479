"""Logins: the metastore decides whether credentials are valid, and for which user. The gateway has no list of users."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from thrift.Thrift import TApplicationException

from metastore.client import Credentials, parse_uris
from metastore.client.connection import BROKEN, Connection, NoReplyError, NotSentError, describe
from metastore.client.errors import AuthenticationError, MetastoreRefusedError, MetastoreUnavailableError
from metastore.domain.delegation_tokens import parse_token, token_text
from thrift_idl.gen.hive_metastore.ttypes import MetaException

_JWT: Final = re.compile(r"ey[\w-]*\.[\w-]+\.[\w-]*")  # the beginning of a JSON object in base64
_BEARER: Final = re.compile(r"bearer +(\S.*)", re.IGNORECASE)
_TIMEOUT: Final = 20.0  # seconds


@dataclass(frozen=True, slots=True, eq=False)
class Login:
    """An authenticated user, and the connection on which the metastore authenticated the user.

    The metastore closes the connection when the credentials are no longer valid.
    """

    user: str
    credentials: Credentials
    connection: Connection

    @property
    def is_open(self) -> bool:
        """Returns whether the metastore still accepts the credentials."""
        return self.connection.is_alive


class Logins:
    """Logs in to the metastore. It uses the TLS settings of this process: METASTORE_CLIENT_TLS and …_CA."""

    def __init__(self, uris: str | Sequence[str]) -> None:
        """Raises InvalidAddressError, CredentialsError."""
        self.addresses = parse_uris(uris)
        own = Credentials.from_environment()
        self._tls = Credentials(tls=own.tls, ca=own.ca)

    def bearer(self, header: str) -> Credentials:
        """Returns the credentials in a header `Authorization: Bearer …`: a JWT, a delegation token, or user:password.

        Raises AuthenticationError if there are none.
        """
        match = _BEARER.fullmatch(header)
        user, separator, password = match[1].partition(":") if match else ("", "", "")
        if match is None or (separator and not (user and password)):
            raise AuthenticationError(
                "Spark Connect needs a bearer token: connect to sc://host:port/;token=… with a JWT, a delegation token "
                "or user:password"
            )
        return self.password(user, password) if separator else self._token(match[1])

    def password(self, user: str, password: str) -> Credentials:
        """Returns the credentials of a client that sends a user name and a password, a JWT or a delegation token."""
        if _JWT.fullmatch(password) or _is_token(password):
            return self._token(password)
        return replace(self._tls, user=user, password=password)

    def _token(self, text: str) -> Credentials:
        return replace(self._tls, token=text) if _is_token(text) else replace(self._tls, jwt=text)

    def log_in(self, credentials: Credentials) -> Login:
        """Logs in. Blocks.

        Raises AuthenticationError or MetastoreRefusedError with the metastore's text, or MetastoreUnavailableError.
        """
        failures = []
        for address in self.addresses:
            try:
                connection = Connection(
                    address, connect_timeout=_TIMEOUT, timeout=_TIMEOUT, user=None, credentials=credentials
                )
                names = connection.call("set_ugi", "", [])
            except (NotSentError, NoReplyError, *BROKEN) as error:
                failures.append(f"{address} ({describe(error)})")
                continue
            except (MetaException, TApplicationException) as error:
                connection.close()
                raise MetastoreRefusedError(f"{address}: {error.message}") from None
            if not names:
                connection.close()
                raise AuthenticationError(f"{address} does not authenticate users (METASTORE_AUTHENTICATION=none)")
            return Login(str(names[-1]), credentials, connection)
        raise MetastoreUnavailableError(f"no metastore answers at {', '.join(failures)}")


def _is_token(text: str) -> bool:
    """Returns whether a text is a delegation token."""
    try:
        return token_text(*parse_token(text)) == text.rstrip("=")
    except ValueError:
        return False
