"""The result of authentication, shared by the code that verifies credentials and the code that uses identities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

CERTIFICATE: Final = "tls-certificate"
KERBEROS: Final = "kerberos"
TOKEN: Final = "token"  # noqa: S105 - the name of a method
PASSWORD: Final = "password"  # noqa: S105 - the name of a method
JWT: Final = "jwt"
METHODS: Final = (CERTIFICATE, KERBEROS, TOKEN, PASSWORD, JWT)


@dataclass(frozen=True, slots=True)
class Identity:
    """An authenticated user. `method`: one of METHODS. `real_user`: the proxy user who acts for `user`, if any."""

    user: str
    method: str
    real_user: str | None = None


class AuthenticationFailedError(Exception):
    """Authentication failed. The text is sent to the client: it says what to do and contains no secret."""


class Mechanism(Protocol):
    """The server side of one SASL exchange."""

    @property
    def identity(self) -> Identity | None:
        """The authenticated user; None until the exchange is complete."""

    @property
    def protects(self) -> bool:
        """Whether messages after the exchange are passed through `wrap` and `unwrap`."""

    def step(self, response: bytes) -> bytes:
        """Processes a response of the client and returns the next challenge. May block.

        Raises AuthenticationFailedError.
        """

    def wrap(self, data: bytes) -> bytes:
        """Signs or encrypts data to be sent."""

    def unwrap(self, data: bytes) -> bytes:
        """Verifies or decrypts received data. Raises AuthenticationFailedError if it was modified."""
