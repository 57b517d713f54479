"""JWT verification: signature, issuer, audience and times."""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from metastore.errors import ConfigurationError
from metastore.identity import JWT, AuthenticationFailedError, AuthenticationUnavailableError, Identity, is_name
from metastore.security.key_sets import KeySet

log = logging.getLogger("metastore.security")

_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Asymmetric algorithms only: with a shared secret, each server that verifies tokens could also issue them."""
_LEEWAY: Final = 30  # seconds of clock difference


class JsonWebTokens:
    """Verifies tokens. `keys`: URLs or files of key sets (RFC 7517), separated by commas. Needs the package PyJWT."""

    def __init__(self, keys: str, issuer: str, audience: str, claim: str, groups_claim: str = "") -> None:
        """`claim` contains the user name, `groups_claim` (a path such as realm_access.roles) the groups.

        Raises ConfigurationError.
        """
        try:
            import jwt
        except ImportError:
            raise ConfigurationError("JWTs need the package PyJWT: run  pip install 'metastore[jwt]'") from None
        missing = [name for name, value in (("keys", keys), ("issuer", issuer), ("audience", audience)) if not value]
        if missing:
            raise ConfigurationError(f"authentication by jwt needs {', '.join(f'jwt_{name}' for name in missing)}")
        self._jwt: Any = jwt
        self._issuer, self._audience, self._claim = issuer, audience, claim
        self._groups_claim = groups_claim
        self._sets = [KeySet(jwt, part.strip()) for part in keys.split(",") if part.strip()]

    def identity(self, token: str) -> Identity:
        """Verifies a token. May fetch keys. Raises AuthenticationFailedError; its text holds no part of the token."""
        try:
            claims = self._jwt.decode(
                token,
                self._key(token),
                algorithms=_ALGORITHMS,
                issuer=self._issuer,
                audience=self._audience,
                leeway=_LEEWAY,
                options={"require": ["exp", self._claim]},
            )
        except (self._jwt.PyJWTError, TypeError, ValueError) as error:  # TypeError: the key has another algorithm
            is_unchecked = isinstance(error, self._jwt.PyJWKClientConnectionError)
            failure = AuthenticationUnavailableError if is_unchecked else AuthenticationFailedError
            raise failure(f"Authentication error: the JWT is not accepted: {_reason(error)}") from error
        user = claims[self._claim]
        if not isinstance(user, str) or not is_name(user):
            raise AuthenticationFailedError(f"Authentication error: the JWT's claim {self._claim} names no user")
        return Identity(user, JWT, expires_at=float(claims["exp"]) + _LEEWAY, groups=self._groups(claims))

    def _groups(self, claims: Mapping[str, Any]) -> tuple[str, ...]:
        """Returns the groups in the claims: a text or a list of texts. Other values are no groups."""
        value: Any = claims if self._groups_claim else None
        if self._groups_claim in claims:
            value = claims[self._groups_claim]
        else:
            for name in self._groups_claim.split("."):
                value = value.get(name) if isinstance(value, dict) else None
        texts = value if isinstance(value, list) else [value]
        names = [unicodedata.normalize("NFKC", text) for text in texts if isinstance(text, str)]
        return tuple(filter(is_name, names))

    def check(self, _user: str, password: str) -> Identity | None:
        """Verifies a token that is sent as a password. Returns None if the password is not a token."""
        return self.identity(password) if is_token(password) else None

    def _key(self, token: str) -> Any:
        """Returns the key of the token's key id, or the only key for a token without one.

        A set that cannot be fetched is skipped if another one has the key.
        """
        name = self._jwt.get_unverified_header(token).get("kid")
        if name is None:
            keys = [key for key_set in self._sets for key in key_set.all()]
            if len(keys) != 1:
                raise self._jwt.PyJWKClientError("a token without key id needs key sets with exactly one key")
            return keys[0].key
        last_error: Exception = self._jwt.PyJWKClientError("no key set has it")
        for key_set in self._sets:
            try:
                key = key_set.find(name)
            except self._jwt.PyJWKClientConnectionError as error:
                log.warning("the key set %s cannot be used: %s", key_set.location, error)
                last_error = error
            else:
                if key is not None:
                    return key.key
        raise last_error


def is_token(password: str) -> bool:
    """Returns whether a password has the form of a JWT."""
    return password.count(".") == 2 and password.startswith("ey")


def _reason(error: Exception) -> str:
    """Describes the error without any part of the token."""
    texts = {
        "ExpiredSignatureError": "it has expired",
        "ImmatureSignatureError": "it is not valid yet",
        "InvalidAudienceError": "it is for another audience",
        "InvalidIssuerError": "it is another issuer's",
        "InvalidSignatureError": "its signature is wrong",
        "InvalidAlgorithmError": "its algorithm is not allowed",
        "PyJWKClientConnectionError": "the key set cannot be fetched; try again",
        "PyJWKClientError": "no key set has its key",
        "MissingRequiredClaimError": str(error),
    }
    return texts.get(type(error).__name__, "it is malformed")
