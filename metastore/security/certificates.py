"""Client certificates: the user of a verified certificate."""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Callable
from typing import Any, Final

from metastore.errors import ConfigurationError
from metastore.identity import CERTIFICATE, AuthenticationFailedError, Identity, is_name

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
_UPN: Final = "upn:"
_UPN_TYPE: Final = "1.3.6.1.4.1.311.20.2.3"
_UTF8_STRING: Final = 12  # ASN.1


class Certificates:
    """Maps certificates to users with a regular expression; its only group is the user name.

    The pattern is matched against the subject (`CN=alice,O=Example`). A pattern that starts with `email:` or `upn:` is
    matched against the e-mail addresses or the user principal names (Active Directory) of the subject alternative name
    instead: `email:([^@]+)@example\\.com`.
    """

    def __init__(self, pattern: str) -> None:
        """Raises ConfigurationError if the pattern is not a regular expression with one group."""
        try:
            self._pattern = re.compile(pattern)
        except re.error as error:
            raise ConfigurationError(f"tls_user_pattern {pattern!r} is not a regular expression: {error}") from error
        if self._pattern.groups != 1:
            raise ConfigurationError(f"tls_user_pattern {pattern!r} must have one group, the user name: CN=([^,]+).*")
        self._names: Callable[[dict[str, Any]], list[str]] = lambda certificate: [subject(certificate)]
        if pattern.startswith(_EMAIL):
            self._names = _emails
        elif pattern.startswith(_UPN):
            self._names = _principal_names()

    def identity(self, certificate: dict[str, Any]) -> Identity:
        """Returns the user of a certificate (the dict of `ssl.SSLSocket.getpeercert`).

        Raises AuthenticationFailedError if it has expired, or if the pattern matches no user or several.
        """
        # TLS checks the dates in a full handshake only: a resumed session keeps the certificate that it began with.
        expires_at = ssl.cert_time_to_seconds(certificate["notAfter"])
        if expires_at < time.time():
            raise AuthenticationFailedError("The client certificate has expired")
        names = self._names(certificate)
        users = {match[1] for match in map(self._pattern.fullmatch, names) if match and is_name(match[1] or "")}
        if len(users) != 1:
            text = ", ".join(names) or f"{subject(certificate)} without such a subject alternative name"
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


def _principal_names() -> Callable[[dict[str, Any]], list[str]]:
    """Returns a function that lists user principal names, each with the prefix `upn:`. Python does not decode them.

    Raises ConfigurationError if the package cryptography is missing.
    """
    try:
        from cryptography import x509
    except ImportError:
        raise ConfigurationError(
            "tls_user_pattern upn:… needs the package cryptography: run  pip install 'metastore[jwt]'"
        ) from None

    def names(certificate: dict[str, Any]) -> list[str]:
        decoded = x509.load_der_x509_certificate(certificate["DER"])
        try:
            alternative = decoded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            return []
        others = alternative.get_values_for_type(x509.OtherName)
        return [_UPN + _utf8(other.value) for other in others if other.type_id.dotted_string == _UPN_TYPE]

    return names


def _utf8(encoded: bytes) -> str:
    """Returns the text of a DER-encoded UTF8String of less than 128 bytes; an empty text for anything else."""
    if len(encoded) < 2 or encoded[0] != _UTF8_STRING or encoded[1] != len(encoded) - 2:
        return ""
    return encoded[2:].decode(errors="replace")
