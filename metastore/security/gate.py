"""Who knows the users: the methods of authentication that the settings name, put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from metastore.identity import Identity, Mechanism, RefusedError
from metastore.security.certificates import Certificates

Begin = Callable[[bool], Mechanism]
"""Begins a mechanism; is told whether the connection is encrypted. Raises RefusedError."""


class Gate:
    """What connections ask (`transport.door.Gate`). `mechanisms`: by SASL's name, with the method each belongs to."""

    def __init__(
        self,
        certificates: Certificates,
        mechanisms: Mapping[str, tuple[str, Begin]],
        bearer: Callable[[str], Identity] | None = None,
    ) -> None:
        self._certificates = certificates
        self._mechanisms = mechanisms
        self._bearer = bearer

    def mechanism(self, name: str, methods: frozenset[str], *, encrypted: bool) -> Mechanism:
        """Begins one. Raises RefusedError with Hive's text where it is not offered."""
        offered = {each: begin for each, (method, begin) in self._mechanisms.items() if method in methods}
        if name not in offered:
            names = ", ".join(sorted(offered)) or "none"
            raise RefusedError(
                f"Unsupported mechanism type {name[:40]}: this metastore offers {names} "
                f"(METASTORE_AUTHENTICATION={','.join(sorted(methods))})"
            )
        return offered[name](encrypted)

    def certificate(self, certificate: dict[str, Any]) -> Identity:
        """Raises RefusedError."""
        return self._certificates.identity(certificate)

    def bearer(self, token: str) -> Identity:
        """Raises RefusedError."""
        if self._bearer is None:
            raise RefusedError("This metastore takes no JWT: METASTORE_AUTHENTICATION does not name jwt")
        return self._bearer(token)
