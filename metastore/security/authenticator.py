"""Verifies credentials with the authentication methods of the settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from metastore.errors import ConfigurationError
from metastore.identity import JWT, KERBEROS, PASSWORD, TOKEN, AuthenticationFailedError, Identity, Mechanism
from metastore.security.certificates import Certificates
from metastore.security.digest_md5 import DigestMd5, Secret
from metastore.security.jwt import JsonWebTokens
from metastore.security.kerberos import Kerberos
from metastore.security.ldap import Directory
from metastore.security.listener_settings import listeners
from metastore.security.passwords import Check, PasswordFile, Plain
from metastore.settings import Settings

StartMechanism = Callable[[frozenset[str], bool], Mechanism]
"""Starts a SASL mechanism. Arguments: the listener's methods; whether the connection is encrypted."""


class Authenticator:
    """Implements `transport.listener.Authenticator`. `mechanisms`: by SASL name, with the methods that enable each."""

    def __init__(
        self,
        certificates: Certificates,
        mechanisms: Mapping[str, tuple[frozenset[str], StartMechanism]],
        bearer: Callable[[str], Identity] | None = None,
        *,
        without_tls: bool = False,
    ) -> None:
        self._certificates = certificates
        self._mechanisms = mechanisms
        self._bearer = bearer
        self._without_tls = without_tls

    def mechanism(self, name: str, methods: frozenset[str], *, encrypted: bool) -> Mechanism:
        """Starts a SASL mechanism. Raises AuthenticationFailedError, with Hive's text, if it is not offered."""
        offered = {key: start for key, (enabled_by, start) in self._mechanisms.items() if enabled_by & methods}
        if name not in offered:
            names = ", ".join(sorted(offered)) or "none"
            raise AuthenticationFailedError(
                f"Unsupported mechanism type {name[:40]}: this metastore offers {names} "
                f"(METASTORE_AUTHENTICATION={','.join(sorted(methods))})"
            )
        return offered[name](methods, encrypted)

    def certificate(self, certificate: dict[str, Any]) -> Identity:
        """Returns the user of a client certificate. Raises AuthenticationFailedError."""
        return self._certificates.identity(certificate)

    def bearer(self, token: str, *, encrypted: bool) -> Identity:
        """Verifies a JWT and returns its user. Raises AuthenticationFailedError."""
        if self._bearer is None:
            raise AuthenticationFailedError("This metastore accepts no JWT: METASTORE_AUTHENTICATION lacks jwt")
        if not (encrypted or self._without_tls):
            raise AuthenticationFailedError(
                "This metastore accepts JWTs over https only (METASTORE_ALLOW_PASSWORD_WITHOUT_TLS=false)"
            )
        return self._bearer(token)


def make_authenticator(settings: Settings, secret: Secret) -> Authenticator:
    """Returns the authenticator of these settings. `secret` looks up delegation tokens. Raises ConfigurationError."""
    methods = frozenset[str]().union(*(listener.authentication for listener in listeners(settings)))
    mechanisms: dict[str, tuple[frozenset[str], StartMechanism]] = {}
    if KERBEROS in methods:
        kerberos = Kerberos(settings.kerberos_keytab, settings.kerberos_auth_to_local, settings.kerberos_protection)
        mechanisms["GSSAPI"] = frozenset((KERBEROS,)), lambda _methods, _encrypted: kerberos.start()
    if TOKEN in methods:
        mechanisms["DIGEST-MD5"] = frozenset((TOKEN,)), lambda _methods, _encrypted: DigestMd5(secret)
    tokens = None
    checks: dict[str, list[Check]] = {PASSWORD: [], JWT: []}
    if JWT in methods:
        tokens = JsonWebTokens(settings.jwt_keys, settings.jwt_issuer, settings.jwt_audience, settings.jwt_user_claim)
        checks[JWT].append(tokens.check)
    if PASSWORD in methods:
        checks[PASSWORD] += _password_checks(settings)
    if methods & checks.keys():

        def plain(accepted: frozenset[str], encrypted: bool) -> Mechanism:
            enabled = [check for method in (JWT, PASSWORD) if method in accepted for check in checks[method]]
            return Plain(enabled, encrypted=encrypted, without_tls=settings.allow_password_without_tls)

        mechanisms["PLAIN"] = frozenset(checks), plain
    return Authenticator(
        Certificates(settings.tls_user_pattern),
        mechanisms,
        tokens.identity if tokens else None,
        without_tls=settings.allow_password_without_tls,
    )


def directory(settings: Settings) -> Directory:
    """Returns the LDAP directory of the settings. Raises ConfigurationError."""
    return Directory(
        settings.ldap_url,
        settings.ldap_user_dn,
        authorities=settings.ldap_ca,
        group_base=settings.ldap_group_base,
        group_filter=settings.ldap_group_filter,
    )


def _password_checks(settings: Settings) -> list[Check]:
    checks: list[Check] = []
    if settings.password_file:
        file = PasswordFile(settings.password_file)
        file.users()  # reports an unreadable file at start, not at the first login
        checks.append(file.check)
    if settings.ldap_url:
        checks.append(directory(settings).check)
    if not checks:
        raise ConfigurationError("authentication by password needs password_file or ldap_url")
    return checks
