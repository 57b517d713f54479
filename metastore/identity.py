"""The result of authentication, shared by the code that verifies credentials and the code that uses identities."""

from __future__ import annotations

import unicodedata
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final, Protocol

CERTIFICATE: Final = "tls-certificate"
KERBEROS: Final = "kerberos"
TOKEN: Final = "token"  # noqa: S105 - the name of a method
PASSWORD: Final = "password"  # noqa: S105 - the name of a method
JWT: Final = "jwt"
METHODS: Final = (CERTIFICATE, KERBEROS, TOKEN, PASSWORD, JWT)


@dataclass(frozen=True, slots=True)
class Identity:
    """An authenticated user.

    Attributes:
        method: one of METHODS.
        real_user: the proxy user who acts for `user`, if any.
        expires_at: time at which the credential expires, in seconds since 1970; None: unknown or never.
        credential: the credential on which the session depends: the hash in the password file, a token's identifier, or
            an LDAP entry.
        groups: groups that the credential names, in addition to those of METASTORE_GROUP_MAPPING.
    """

    user: str
    method: str
    real_user: str | None = None
    expires_at: float | None = field(default=None, compare=False)
    credential: str | bytes = field(default="", compare=False, repr=False)
    groups: tuple[str, ...] = field(default=(), compare=False)


def is_name(text: str) -> bool:
    """Returns whether a text can be the name of a user or group: control characters would change a log or a terminal,
    and names that differ in outer blanks, invisible characters, or the width or composition of characters (NFKC) look
    the same, but have different rights.
    """
    return text.isprintable() and text == text.strip() != "" and unicodedata.is_normalized("NFKC", text)


class AuthenticationFailedError(Exception):
    """Authentication failed. The text is sent to the client: it says what to do and contains no secret.

    `user`: the name that the client claims, for the log; None if it claims none.
    """

    def __init__(self, text: str, user: str | None = None) -> None:
        super().__init__(text)
        self.user = user


class AuthenticationUnavailableError(AuthenticationFailedError):
    """The credentials were not checked: a directory or a file is not available, or there are too many logins.

    This is not a wrong password, and the client may try again.
    """


class Mechanism(Protocol):
    """The server side of one SASL exchange."""

    @property
    def identity(self) -> Identity | None:
        """The authenticated user; None until the exchange is complete, or if `step` has returned a check."""

    @property
    def protects(self) -> bool:
        """Whether messages after the exchange are passed through `wrap` and `unwrap`."""

    def step(self, response: bytes) -> bytes | Future[Identity]:
        """Processes a response of the client. May block. Raises AuthenticationFailedError.

        Returns the next challenge; or the check of a password in another thread, whose result completes the exchange.
        """

    def wrap(self, data: bytes) -> bytes:
        """Signs or encrypts data to be sent."""

    def unwrap(self, data: bytes) -> bytes:
        """Verifies or decrypts received data. Raises AuthenticationFailedError if it was modified."""
