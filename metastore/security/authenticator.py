"""Verifies credentials with the authentication methods of the settings."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from metastore.errors import ConfigurationError, MetastoreError
from metastore.identity import JWT, KERBEROS, PASSWORD, TOKEN, AuthenticationFailedError, Identity, Mechanism
from metastore.security.certificates import Certificates
from metastore.security.digest_md5 import DigestMd5, Secret
from metastore.security.jwt import JsonWebTokens, is_token
from metastore.security.kerberos import Kerberos
from metastore.security.ldap import FOUND_IN_LDAP, Directory
from metastore.security.listener_settings import listeners
from metastore.security.passwords import Check, LoginGuard, PasswordFile, Plain
from metastore.security.throttle import SharedFailures, ThrottledError
from metastore.settings import Settings

log = logging.getLogger("metastore.security")

_SHOWN: Final = 200  # characters of a name in the log
_LOOK_UP_INTERVAL: Final = 30.0  # seconds between two searches for a user with open connections
_LOOK_UP_TIME: Final = 5.0  # seconds for searches in one review: other credentials must not wait for a slow directory
_MAX_LOOKED_UP: Final = 10_000  # users
StartMechanism = Callable[[frozenset[str], bool, str], Mechanism]
"""Starts a SASL mechanism. Arguments: the listener's methods; whether the connection is encrypted; the peer."""

AliveTokens = Callable[[Collection[bytes]], set[bytes]]
"""Takes identifiers of delegation tokens; returns those that are neither cancelled nor expired."""

FailedLogin = Callable[[str | None, str, str], None]
"""Records a failed login. Arguments: the claimed user, if any; the peer ("host:port"); the reason."""


class Authenticator:
    """Implements `transport.listener.Authenticator`. `mechanisms`: SASL name → methods that enable it, its start."""

    def __init__(
        self,
        certificates: Certificates,
        mechanisms: Mapping[str, tuple[frozenset[str], StartMechanism]],
        bearer: Callable[[str], Identity] | None = None,
        *,
        without_tls: bool = False,
        sessions: SessionChecks | None = None,
        record_failure: FailedLogin = lambda *_: None,
    ) -> None:
        self._sessions = sessions or SessionChecks()
        self._record_failure = record_failure
        self._certificates = certificates
        self._mechanisms = mechanisms
        self._bearer = bearer
        self._without_tls = without_tls

    def mechanism(self, name: str, methods: frozenset[str], *, encrypted: bool, peer: str) -> Mechanism:
        """Starts a SASL mechanism. Raises AuthenticationFailedError, with Hive's text, if it is not offered."""
        offered = {key: start for key, (enabled_by, start) in self._mechanisms.items() if enabled_by & methods}
        if name not in offered:
            names = ", ".join(sorted(offered)) or "none"
            raise AuthenticationFailedError(
                f"Unsupported mechanism type {name[:40]}: this metastore offers {names} "
                f"(METASTORE_AUTHENTICATION={','.join(sorted(methods))})"
            )
        return offered[name](methods, encrypted, peer)

    def certificate(self, certificate: dict[str, Any]) -> Identity:
        """Returns the user of a client certificate. Raises AuthenticationFailedError."""
        return self._certificates.identity(certificate)

    def bearer(self, token: str, *, encrypted: bool) -> Identity:
        """Verifies a JWT and returns its user. Raises AuthenticationFailedError."""
        if self._bearer is None:
            raise AuthenticationFailedError(
                "This metastore does not accept JWTs: METASTORE_AUTHENTICATION does not contain jwt"
            )
        if not (encrypted or self._without_tls):
            raise AuthenticationFailedError(
                "This metastore accepts JWTs over https only (METASTORE_ALLOW_PASSWORD_WITHOUT_TLS=false)"
            )
        return self._bearer(token)

    def failed(self, error: AuthenticationFailedError, peer: str) -> None:
        """Logs a failed login, and records it in the audit trail. Logins that the throttle rejects are only logged."""
        log.warning("login failed: user=%r address=%s: %s", (error.user or "-")[:_SHOWN], peer, error)
        if not isinstance(error, ThrottledError):
            self._record_failure(error.user, peer, str(error))

    def ended(self, identities: Sequence[Identity]) -> list[str]:
        """Returns for each identity the reason why its connections have to end, or an empty text. May block."""
        return self._sessions.ended(identities)


class SessionChecks:
    """Finds identities whose credentials are no longer valid.

    `alive` looks up delegation tokens, `in_directory` users in LDAP.
    """

    def __init__(
        self,
        passwords: PasswordFile | None = None,
        alive: AliveTokens | None = None,
        in_directory: Callable[[str], bool] | None = None,
    ) -> None:
        self._passwords = passwords
        self._alive = alive
        self._in_directory = in_directory
        self._look_up_until = 0.0
        self._looked_up: dict[str, tuple[float, bool]] = {}  # user → time of search, whether it was found

    def ended(self, identities: Sequence[Identity]) -> list[str]:
        """Implements `Authenticator.ended`. Sessions continue if the password file or the database is unavailable."""
        tokens = {identity.credential for identity in identities if identity.method == TOKEN}
        alive = self._alive_of({token for token in tokens if isinstance(token, bytes)})
        self._look_up_until = time.monotonic() + _LOOK_UP_TIME
        now = time.time()
        return [self._reason(identity, now, alive) for identity in identities]

    def _alive_of(self, tokens: set[bytes]) -> set[bytes]:
        try:
            return self._alive(tokens) if tokens and self._alive else tokens
        except MetastoreError as error:
            log.warning("connections with delegation tokens could not be reviewed: %s", error)
            return tokens

    def _reason(self, identity: Identity, now: float, alive: set[bytes]) -> str:
        if identity.expires_at is not None and identity.expires_at < now:
            return f"the login of {identity.user} by {identity.method} has expired"
        credential = identity.credential
        if isinstance(credential, bytes):
            return (
                "" if credential in alive else f"the delegation token of {identity.user} was cancelled or has expired"
            )
        if credential == FOUND_IN_LDAP:
            return "" if self._is_in_directory(identity.user) else f"user {identity.user} was removed from LDAP"
        if identity.method == PASSWORD and credential and self._passwords:
            try:
                if not self._passwords.has(identity.user, credential):
                    return f"user {identity.user} was removed from the password file, or has a new password"
            except ConfigurationError as error:
                log.warning("connections with passwords could not be reviewed: %s", error)
        return ""

    def _is_in_directory(self, user: str) -> bool:
        """Returns whether the directory has a user, whom it looks up every half minute.

        If the directory does not answer, sessions continue.
        """
        now = time.monotonic()
        since, known = self._looked_up.get(user, (float("-inf"), True))
        if self._in_directory is None or now - since < _LOOK_UP_INTERVAL or now > self._look_up_until:
            return known
        if len(self._looked_up) >= _MAX_LOOKED_UP:
            self._looked_up.clear()
        try:
            known = self._in_directory(user)
        except MetastoreError as error:
            log.warning("connections of LDAP users could not be reviewed: %s", error)
            self._look_up_until = now  # the other users follow at the next review
        self._looked_up[user] = now, known
        return known


def make_authenticator(
    settings: Settings,
    secret: Secret,
    alive: AliveTokens,
    record_failure: FailedLogin,
    failures: SharedFailures | None = None,
) -> Authenticator:
    """Returns the authenticator of these settings.

    `secret` and `alive` look up delegation tokens. `failures` counts the failed logins of all workers. Raises
    ConfigurationError.
    """
    methods = frozenset[str]().union(*(listener.authentication for listener in listeners(settings)))
    mechanisms: dict[str, tuple[frozenset[str], StartMechanism]] = {}
    if KERBEROS in methods:
        kerberos = Kerberos(settings.kerberos_keytab, settings.kerberos_auth_to_local, settings.kerberos_protection)
        mechanisms["GSSAPI"] = frozenset((KERBEROS,)), lambda *_: kerberos.start()
    if TOKEN in methods:
        mechanisms["DIGEST-MD5"] = frozenset((TOKEN,)), lambda *_: DigestMd5(secret)
    tokens = None
    checks: dict[str, list[Check]] = {PASSWORD: [], JWT: []}
    if JWT in methods:
        claims = settings.jwt_user_claim, settings.jwt_groups_claim
        tokens = JsonWebTokens(settings.jwt_keys, settings.jwt_issuer, settings.jwt_audience, *claims)
        checks[JWT].append(tokens.check)
    file = PasswordFile(settings.password_file) if PASSWORD in methods and settings.password_file else None
    ldap = Directory(settings) if PASSWORD in methods and settings.ldap_url else None
    if PASSWORD in methods:
        checks[PASSWORD] += _password_checks(file, ldap)
    if methods & checks.keys():
        guard = LoginGuard(failures)

        def plain(accepted: frozenset[str], encrypted: bool, peer: str) -> Mechanism:
            enabled = [check for method in (JWT, PASSWORD) if method in accepted for check in checks[method]]
            without_tls, is_jwt = settings.allow_password_without_tls, is_token if JWT in accepted else lambda _: False
            return Plain(enabled, guard, encrypted=encrypted, without_tls=without_tls, peer=peer, is_token=is_jwt)

        mechanisms["PLAIN"] = frozenset(checks), plain
    return Authenticator(
        Certificates(settings.tls_user_pattern),
        mechanisms,
        tokens.identity if tokens else None,
        without_tls=settings.allow_password_without_tls,
        sessions=SessionChecks(file, alive, ldap.has if ldap and ldap.can_look_up else None),
        record_failure=record_failure,
    )


def _password_checks(file: PasswordFile | None, ldap: Directory | None) -> list[Check]:
    checks: list[Check] = []
    if file:
        file.users()  # reports an unreadable file at start, not at the first login
        checks.append(file.check)
    if ldap:
        checks.append(ldap.check)
    if not checks:
        raise ConfigurationError("authentication by password needs password_file or ldap_url")
    return checks
