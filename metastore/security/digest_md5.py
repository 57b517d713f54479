"""SASL DIGEST-MD5 (RFC 2831) with quality auth, by which delegation tokens are shown."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from typing import Final

from metastore.identity import AuthenticationFailedError, Identity

REALM: Final = "default"
# Nothing that has matched is given back: else somebody who is not known could have it tried for minutes.
_DIRECTIVE: Final = re.compile(r'\s*+([a-zA-Z-]++)\s*+=\s*+(?:"((?:[^"\\]|\\.)*+)"|([^,\s"]*+))\s*+(?:,|$)')

Secret = Callable[[bytes], tuple[bytes, Identity]]
"""The secret (`secret_of`) behind an identifier, and whose token it is. Raises AuthenticationFailedError."""


def secret_of(identifier: bytes, password: bytes) -> bytes:
    """Returns what is kept of a token's password: MD5(user:realm:password), with which it can be checked."""
    user, text = base64.b64encode(identifier).decode(), base64.b64encode(password).decode()
    return hashlib.md5(f"{user}:{REALM}:{text}".encode(), usedforsecurity=False).digest()


class DigestMd5:
    """One client's exchange. What follows is not protected by it."""

    protects = False

    def __init__(self, secret: Secret) -> None:
        self.identity: Identity | None = None
        self._secret = secret
        self._nonce = base64.b64encode(secrets.token_bytes(24)).decode()
        self._challenged = False

    def step(self, response: bytes) -> bytes:
        """Raises AuthenticationFailedError."""
        if not self._challenged:
            self._challenged = True
            return f'realm="{REALM}",nonce="{self._nonce}",charset=utf-8,algorithm=md5-sess,qop="auth"'.encode()
        said = _directives(response)
        self._check(said)
        try:
            identifier = base64.b64decode(said["username"], validate=True)
        except (binascii.Error, ValueError):
            raise AuthenticationFailedError("DIGEST-MD5: the user name is no token's identifier") from None
        secret, identity = self._secret(identifier)
        expected = self._response(secret, said, f"AUTHENTICATE:{said['digest-uri']}")
        if not hmac.compare_digest(expected, said["response"].lower()):
            raise AuthenticationFailedError("DIGEST-MD5: digest response format violation. Mismatched response.")
        if said.get("authzid", "") not in ("", said["username"], identity.user):
            raise AuthenticationFailedError(
                f"{identity.user} may not come in as somebody else: leave the authorization id empty"
            )
        self.identity = identity
        return f"rspauth={self._response(secret, said, ':' + said['digest-uri'])}".encode()

    def wrap(self, data: bytes) -> bytes:
        return data

    unwrap = wrap

    def _check(self, said: dict[str, str]) -> None:
        for name in ("username", "nonce", "nc", "cnonce", "digest-uri", "response"):
            if name not in said:
                raise AuthenticationFailedError(f"DIGEST-MD5: the response has no {name}")
        if said["nonce"] != self._nonce or said["nc"] != "00000001" or said.get("realm", "") != REALM:
            raise AuthenticationFailedError("DIGEST-MD5: the response is not to this challenge")
        if said.get("qop", "auth") != "auth":
            raise AuthenticationFailedError(
                "No common protection layer between client and server: tokens have qop=auth"
            )
        if not said["response"].isascii():
            raise AuthenticationFailedError("DIGEST-MD5: the response is no digest")

    def _response(self, secret: bytes, said: dict[str, str], a2: str) -> str:
        a1 = secret + f":{said['nonce']}:{said['cnonce']}".encode()
        if said.get("authzid"):
            a1 += f":{said['authzid']}".encode()
        middle = f"{said['nonce']}:{said['nc']}:{said['cnonce']}:auth"
        return _hex(f"{_hex(a1)}:{middle}:{_hex(a2.encode())}".encode())


def _hex(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _directives(response: bytes) -> dict[str, str]:
    """Raises AuthenticationFailedError for what is no list of directives, or has one twice."""
    try:
        text = response.decode()
    except UnicodeDecodeError:
        raise AuthenticationFailedError("DIGEST-MD5: the response is not UTF-8") from None
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _DIRECTIVE.match(text, at)
        if not match or match[1].lower() in found:
            raise AuthenticationFailedError("DIGEST-MD5: the response is malformed")
        quoted = match[2]
        found[match[1].lower()] = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else match[3]
        at = match.end()
    return found
