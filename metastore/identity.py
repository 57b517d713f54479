"""Who somebody has proved to be: what those who ask for the proof give to those who act on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

CERTIFICATE: Final = "tls-certificate"
KERBEROS: Final = "kerberos"
TOKEN: Final = "token"  # noqa: S105 - a method's name
PASSWORD: Final = "password"  # noqa: S105 - a method's name
JWT: Final = "jwt"
METHODS: Final = (CERTIFICATE, KERBEROS, TOKEN, PASSWORD, JWT)


@dataclass(frozen=True, slots=True)
class Identity:
    """A name, the method (of METHODS) that proved it, and who acts for it, where that is somebody else."""

    user: str
    method: str
    real_user: str | None = None


class AuthenticationFailedError(Exception):
    """Somebody does not come in. The text is told to the client: it says what to do, and holds no secret."""


class Mechanism(Protocol):
    """One client's authentication by a SASL mechanism, seen from the server. Its steps may take their time."""

    @property
    def identity(self) -> Identity | None:
        """Who it is, once that is proved."""

    @property
    def protects(self) -> bool:
        """Whether what follows is wrapped."""

    def step(self, response: bytes) -> bytes:
        """Takes what the client says; returns what to answer. Raises AuthenticationFailedError."""

    def wrap(self, data: bytes) -> bytes:
        """Protects what is sent."""

    def unwrap(self, data: bytes) -> bytes:
        """Verifies and decodes one protected piece. Raises AuthenticationFailedError if it is not intact."""
