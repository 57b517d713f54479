"""Clients' certificates: whose they are."""

from __future__ import annotations

import re
import ssl
import time
from typing import Any, Final

from metastore.errors import ConfigurationError
from metastore.identity import CERTIFICATE, AuthenticationFailedError, Identity

_SHORT: Final = {
    "commonName": "CN",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "countryName": "C",
    "stateOrProvinceName": "ST",
    "localityName": "L",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}
_SPECIAL: Final = re.compile(r'([,+"\\<>;=]|^[ #]| $)')


class Certificates:
    """Maps subjects of certificates to users by a rule: a regular expression whose one group is the user's name."""

    def __init__(self, rule: str) -> None:
        """Raises ConfigurationError."""
        try:
            self._rule = re.compile(rule)
        except re.error as error:
            raise ConfigurationError(f"tls_user_pattern {rule!r} is not a regular expression: {error}") from error
        if self._rule.groups != 1:
            raise ConfigurationError(f"tls_user_pattern {rule!r} must have one group, the user name: CN=([^,]+).*")

    def identity(self, certificate: dict[str, Any]) -> Identity:
        """Tells whose certificate (`ssl.SSLSocket.getpeercert`) that is. Raises AuthenticationFailedError.

        A resumed session brings its certificate along: whether it is still valid is looked at here, too.
        """
        if ssl.cert_time_to_seconds(certificate["notAfter"]) < time.time():
            raise AuthenticationFailedError("The client's certificate has expired")
        name = subject(certificate)
        found = self._rule.fullmatch(name)
        if not found or not found[1]:
            raise AuthenticationFailedError(
                f"No user has the certificate {name}: METASTORE_TLS_USER_PATTERN does not match"
            )
        return Identity(found[1], CERTIFICATE)


def subject(certificate: dict[str, Any]) -> str:
    """Returns the subject as RFC 4514 writes it, the most special first: CN=alice,OU=data,O=Example."""
    parts = []
    for names in reversed(certificate.get("subject", ())):
        parts.append("+".join(f"{_SHORT.get(name, name)}={_escaped(value)}" for name, value in names))
    return ",".join(parts)


def _escaped(value: str) -> str:
    return _SPECIAL.sub(r"\\\1", value)
