"""SASL DIGEST-MD5 (RFC 2831), quality of protection auth: the mechanism for delegation tokens."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from typing import Final

from metastore.errors import MetastoreError
from metastore.identity import AuthenticationFailedError, AuthenticationUnavailableError, Identity

REALM: Final = "default"
# Possessive quantifiers: with backtracking, an unauthenticated client could keep the match busy for minutes.
_DIRECTIVE: Final = re.compile(r'\s*+([a-zA-Z-]++)\s*+=\s*+(?:"((?:[^"\\]|\\.)*+)"|([^,\s"]*+))\s*+(?:,|$)')

Secret = Callable[[bytes], tuple[bytes, Identity]]
"""Takes a token's identifier; returns its secret (`secret_of`) and owner.

Raises AuthenticationFailedError; MetastoreError if the database is not available.
"""


def secret_of(identifier: bytes, password: bytes) -> bytes:
    """Returns the stored secret of a token, MD5(user:realm:password). It verifies the password, and can replace it."""
    user, text = base64.b64encode(identifier).decode(), base64.b64encode(password).decode()
    return hashlib.md5(f"{user}:{REALM}:{text}".encode(), usedforsecurity=False).digest()


class DigestMd5:
    """One exchange. It does not protect later messages."""

    protects = False

    def __init__(self, secret: Secret) -> None:
        self.identity: Identity | None = None
        self._secret = secret
        self._nonce = base64.b64encode(secrets.token_bytes(24)).decode()
        self._challenged = False

    def step(self, response: bytes) -> bytes:
        """Sends the challenge, then verifies the response (`Mechanism.step`)."""
        if not self._challenged:
            self._challenged = True
            return f'realm="{REALM}",nonce="{self._nonce}",charset=utf-8,algorithm=md5-sess,qop="auth"'.encode()
        fields = _directives(response)
        self._check(fields)
        try:
            identifier = base64.b64decode(fields["username"], validate=True)
        except (binascii.Error, ValueError):
            raise AuthenticationFailedError("DIGEST-MD5: the user name is not the identifier of a token") from None
        try:
            secret, identity = self._secret(identifier)
        except MetastoreError as error:
            raise AuthenticationUnavailableError(f"DIGEST-MD5: the token was not checked: {error}") from error
        expected = self._response(secret, fields, f"AUTHENTICATE:{fields['digest-uri']}")
        if not hmac.compare_digest(expected, fields["response"].lower()):
            raise AuthenticationFailedError("DIGEST-MD5: digest response format violation. Mismatched response.")
        if fields.get("authzid", "") not in ("", fields["username"], identity.user):
            raise AuthenticationFailedError(
                f"{identity.user} cannot log in as another user: leave the authorization id empty"
            )
        self.identity = identity
        return f"rspauth={self._response(secret, fields, ':' + fields['digest-uri'])}".encode()

    def wrap(self, data: bytes) -> bytes:
        return data

    unwrap = wrap

    def _check(self, fields: dict[str, str]) -> None:
        for name in ("username", "nonce", "nc", "cnonce", "digest-uri", "response"):
            if name not in fields:
                raise AuthenticationFailedError(f"DIGEST-MD5: the response has no {name}")
        if fields["nonce"] != self._nonce or fields["nc"] != "00000001" or fields.get("realm", "") != REALM:
            raise AuthenticationFailedError("DIGEST-MD5: the response does not match this challenge")
        if fields.get("qop", "auth") != "auth":
            raise AuthenticationFailedError(
                "No common protection layer between client and server: tokens have qop=auth"
            )
        if not fields["response"].isascii():
            raise AuthenticationFailedError("DIGEST-MD5: the response is not a digest")

    def _response(self, secret: bytes, fields: dict[str, str], a2: str) -> str:
        a1 = secret + f":{fields['nonce']}:{fields['cnonce']}".encode()
        if fields.get("authzid"):
            a1 += f":{fields['authzid']}".encode()
        middle = f"{fields['nonce']}:{fields['nc']}:{fields['cnonce']}:auth"
        return _hex(f"{_hex(a1)}:{middle}:{_hex(a2.encode())}".encode())


def _hex(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _directives(response: bytes) -> dict[str, str]:
    """Parses a list of directives. Raises AuthenticationFailedError if it is malformed or repeats one."""
    try:
        text = response.decode()
    except UnicodeDecodeError:
        raise AuthenticationFailedError("DIGEST-MD5: the response is not UTF-8") from None
    directives: dict[str, str] = {}
    position = 0
    while position < len(text):
        match = _DIRECTIVE.match(text, position)
        if not match or match[1].lower() in directives:
            raise AuthenticationFailedError("DIGEST-MD5: the response is malformed")
        quoted = match[2]
        directives[match[1].lower()] = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else match[3]
        position = match.end()
    return directives
