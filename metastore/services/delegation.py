"""Delegation tokens: issued to Kerberos users, renewed, cancelled, and accepted instead of a ticket."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from metastore.context import Caller, caller
from metastore.domain.delegation_tokens import Identifier, parse_token, token_text
from metastore.errors import InvalidInputError, InvalidOperationError, NotFoundError
from metastore.identity import KERBEROS, TOKEN, AuthenticationFailedError, Identity
from metastore.services.rules.lookup import required
from metastore.storage.unit_of_work import Store

_MAX_IDENTIFIER: Final = 2000  # bytes: it is indexed
_PASSWORD: Final = 20  # bytes: the length of the HMAC-SHA1 that Hadoop uses

MayAct = Callable[[str, str, str], bool]
"""Returns whether a user may impersonate another one, from an address."""


class TokenLimits(NamedTuple):
    """Seconds until a token must be renewed, seconds that it lives, and the number of tokens of one owner."""

    renew_interval: float
    max_lifetime: float
    per_owner: int


class DelegationService:
    """Rules of tokens (Hive's HiveDelegationTokenManager, DelegationTokenSecretManager). All servers share them.

    `secret_of(identifier, password)`: returns the secret that is stored instead of the password. Times in seconds.
    """

    def __init__(
        self,
        store: Store,
        secret_of: Callable[[bytes, bytes], bytes],
        may_act: MayAct,
        limits: TokenLimits,
        key: bytes | None = None,
    ) -> None:
        """`key`: passwords are derived from it, so that the database holds no secrets. None: they are random."""
        self._store = store
        self._key = key
        self._secret_of = secret_of
        self._may_act = may_act
        self._renew_interval, self._max_lifetime, self._per_owner = limits

    def issue(self, owner: str | None, renewer: str | None) -> str:
        """Issues a token of the owner, as text. If another user impersonates the owner, the token names both.

        Raises InvalidOperationError if the caller may not have it, or the owner has too many; InvalidInputError for
        names that are too long.
        """
        current = _by_kerberos()
        user = current.real_user or current.user or ""
        owner = owner or current.user or ""
        if owner != user and not self._may_act(user, owner, current.peer):
            raise InvalidOperationError(f"User: {user} is not allowed to impersonate {owner}")
        with self._store.transaction() as work:
            work.issued_tokens.delete_expired()
            if work.issued_tokens.count(owner) >= self._per_owner:
                raise InvalidOperationError(
                    f"{owner} has {self._per_owner} delegation tokens, the maximum for a user "
                    "(METASTORE_MAX_TOKENS_PER_OWNER): cancel some, or wait until some expire"
                )
            sequence, now = work.issued_tokens.next()
            expires, latest = (
                now + int(s * 1000) for s in (min(self._renew_interval, self._max_lifetime), self._max_lifetime)
            )
            real_user = "" if owner == user else user
            identifier = Identifier(owner, renewer or "", real_user, now, latest, sequence).encoded()
            if len(identifier) > _MAX_IDENTIFIER:
                raise InvalidInputError("The names of the owner and the renewer are too long for a delegation token")
            password = self._derived(identifier) or secrets.token_bytes(_PASSWORD)
            secret = b"" if self._key else self._secret_of(identifier, password)
            names, times = (owner, renewer or "", real_user), (now, expires, latest)
            work.issued_tokens.insert(sequence, identifier, secret, names, times)
        return token_text(identifier, password)

    def renew(self, text: str | None) -> int:
        """Renews a token. Returns its expiry, in ms since 1970. Raises InvalidOperationError for other callers."""
        user, identifier = _by_kerberos().user, _identifier(text)
        with self._store.transaction() as work:
            token = required(work.issued_tokens.find(identifier), NotFoundError("Renewal request for unknown token"))
            if not token.renewer or _short(token.renewer) != user:
                raise InvalidOperationError(f"{user} tries to renew a token with renewer {token.renewer}")
            if not token.alive:
                raise InvalidOperationError(f"{user} tries to renew an expired token")
            return work.issued_tokens.renew(identifier, self._renew_interval)

    def cancel(self, text: str | None) -> None:
        """Cancels a token. Raises InvalidOperationError unless called by its owner or its renewer."""
        user, identifier = _by_kerberos().user, _identifier(text)
        with self._store.transaction() as work:
            token = required(work.issued_tokens.find(identifier), NotFoundError("Token not found"))
            if user not in (token.owner, _short(token.renewer)):
                raise InvalidOperationError(f"{user} is not authorized to cancel the token")
            work.issued_tokens.delete(identifier)

    def secret(self, identifier: bytes) -> tuple[bytes, Identity]:
        """Returns the secret and the identity of a token. Raises AuthenticationFailedError."""
        with self._store.read() as work:
            token = work.issued_tokens.find(identifier)
        if token is None:
            raise AuthenticationFailedError(
                "DIGEST-MD5: IO error acquiring password: the token can't be found: cancelled, or forged"
            )
        if not token.alive:
            raise AuthenticationFailedError("DIGEST-MD5: IO error acquiring password: the token is expired")
        derived = self._derived(identifier)
        secret = bytes(token.secret) or (self._secret_of(identifier, derived) if derived else b"")
        if not secret:
            raise AuthenticationFailedError(
                "DIGEST-MD5: IO error acquiring password: this server does not have the key of the token "
                "(METASTORE_TOKEN_KEY_FILE)"
            )
        return secret, Identity(token.owner, TOKEN, token.real_user or None, credential=identifier)

    def _derived(self, identifier: bytes) -> bytes | None:
        """Returns the password of a token, as Hadoop's secret manager derives it; None without a key."""
        return hmac.digest(self._key, identifier, "sha256")[:_PASSWORD] if self._key else None

    def alive(self, identifiers: Collection[bytes]) -> set[bytes]:
        """Returns the identifiers of tokens that are neither cancelled nor expired."""
        with self._store.read() as work:
            return work.issued_tokens.alive(identifiers)


def _by_kerberos() -> Caller:
    current = caller.get()
    method = (current.authentication if current else "") or "none"
    if current is None or method != KERBEROS:
        raise InvalidOperationError(
            "Delegation Token can be issued, renewed and cancelled only over Kerberos: "
            f"Current AuthenticationMethod: {method.upper()}"
        )
    return current


def _short(principal: str) -> str:
    return principal.partition("/")[0].partition("@")[0]


def _identifier(text: str | None) -> bytes:
    try:
        return parse_token(text or "")[0]
    except ValueError as error:
        raise InvalidInputError(f"the text is not a delegation token: {error}") from error
