"""Client certificates: which user a verified certificate belongs to."""

from __future__ import annotations

import re
import ssl
import time
from typing import Any, Final

from metastore.errors import ConfigurationError
from metastore.identity import CERTIFICATE, AuthenticationFailedError, Identity

_ATTRIBUTE_NAMES: Final = {  # OpenSSL's long names → RFC 4514
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
_EMAIL: Final = "email:"


class Certificates:
    """Maps certificates to users with a regular expression; its only group is the user name.

    The pattern is matched against the subject (`CN=alice,O=Example`). A pattern that starts with `email:` is matched
    against the e-mail addresses of the subject alternative name instead: `email:([^@]+)@example\\.com`.
    """

    def __init__(self, pattern: str) -> None:
        """Raises ConfigurationError if the pattern is not a regular expression with one group."""
        try:
            self._pattern = re.compile(pattern)
        except re.error as error:
            raise ConfigurationError(f"tls_user_pattern {pattern!r} is not a regular expression: {error}") from error
        if self._pattern.groups != 1:
            raise ConfigurationError(f"tls_user_pattern {pattern!r} must have one group, the user name: CN=([^,]+).*")
        self._by_email = pattern.startswith(_EMAIL)

    def identity(self, certificate: dict[str, Any]) -> Identity:
        """Returns the user of a certificate (the dict of `ssl.SSLSocket.getpeercert`).

        Raises AuthenticationFailedError if it has expired, or if the pattern matches no user or several.
        """
        # TLS checks the dates in a full handshake only: a resumed session keeps the certificate that it began with.
        expires_at = ssl.cert_time_to_seconds(certificate["notAfter"])
        if expires_at < time.time():
            raise AuthenticationFailedError("The client certificate has expired")
        names = _emails(certificate) if self._by_email else [subject(certificate)]
        users = {match[1] for match in map(self._pattern.fullmatch, names) if match and match[1]}
        if len(users) != 1:
            text = ", ".join(names) or "no e-mail address"
            raise AuthenticationFailedError(
                f"Certificate {text} names no user: METASTORE_TLS_USER_PATTERN does not match"
                + (" exactly one" if users else "")
            )
        return Identity(users.pop(), CERTIFICATE, expires_at=float(expires_at))


def subject(certificate: dict[str, Any]) -> str:
    """Returns the subject in RFC 4514 form, the most specific name first: CN=alice,OU=data,O=Example."""
    return ",".join(
        "+".join(f"{_ATTRIBUTE_NAMES.get(name, name)}={_escaped(value)}" for name, value in attributes)
        for attributes in reversed(certificate.get("subject", ()))
    )


def _escaped(value: str) -> str:
    return _SPECIAL.sub(r"\\\1", value)


def _emails(certificate: dict[str, Any]) -> list[str]:
    """Lists the e-mail addresses of the subject alternative name, each with the prefix `email:`."""
    return [_EMAIL + value for kind, value in certificate.get("subjectAltName", ()) if kind == "email"]
