"""LDAP: passwords are checked by a bind as the user; groups are found by a search."""

from __future__ import annotations

import logging
import re
import ssl
import threading
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from metastore.errors import ConfigurationError, InvalidOperationError, UnavailableError
from metastore.identity import PASSWORD, AuthenticationFailedError, AuthenticationUnavailableError, Identity
from metastore.settings import Settings

log = logging.getLogger("metastore.security")

_TIMEOUT: Final = 10  # seconds for connecting and for each answer
_SILENCE: Final = 1.0  # seconds: a failure that took longer occupies threads
_PATIENCE: Final = 1.0  # seconds that a thread waits for one that asks a silent directory
_LOOPBACK: Final = re.compile(r"ldap://(localhost|127\.0\.0\.1|\[::1\])(:|/|$)")
_MAX_DEPTH: Final = 10  # of nested groups
# Printable characters that are ignored in comparisons: RFC 4518, section 2.2, and Unicode's Default_Ignorable.
_IGNORED: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u1806\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\ufffc\U000e0100-\U000e01ef]"
)
_DOTTED_I: Final = "i\u0307"
_COMPARED: Final = re.compile(r"\(([\w.;-]+)=\{user\}\)")  # an attribute that a filter compares with the name
_UNREADABLE: Final = (LookupError, TypeError, ValueError)  # ldap3 raises these for replies that are not LDAP
_COMPLETE: Final = (0, 32)  # success, noSuchObject (RFC 4511)
_BUSY: Final = (51, 52)  # busy, unavailable: the password was not checked
_SIZE_LIMIT_EXCEEDED: Final = 4
_POLICY: Final = "1.3.6.1.4.1.42.2.27.8.5.1"  # the control of draft-behera-ldap-password-policy
_WARNING, _ERROR, _MUST_CHANGE = 0xA0, b"\x81\x01", 2  # tags of its response, and changeAfterReset
FOUND_IN_LDAP: Final = "ldap"
"""`Identity.credential` of a user whose entry can be looked up again."""


def canonical_name(user: str) -> str | None:
    """Returns the name under which a user is known here: case-folded, NFKC. None for an invalid user name.

    Directories compare names without case, width and outer blanks (caseIgnoreMatch, RFC 4517 and 4518). Grants and
    quotas compare exact names, so without this one person could log in as several users. Names with outer or double
    blanks and with invisible characters are rejected, because directories ignore those as well.
    """
    name = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", user).casefold())
    name = name.replace(_DOTTED_I, "i")  # directories fold the capital to a plain i
    is_visible = name.isprintable() and not _IGNORED.search(name)
    return name if is_visible and name == " ".join(name.split()) and name else None


def must_change(response: bytes) -> bool:
    """Returns whether a password was set by an administrator, and is only good for its change.

    `response`: the value of the policy's control, SEQUENCE { warning [0] …, error [1] ENUMERATED }.
    """
    fields = response[2:]
    if fields[:1] == bytes([_WARNING]):
        fields = fields[2 + fields[1] :]
    return fields.startswith(_ERROR) and fields[2] == _MUST_CHANGE


class Directory:
    """The LDAP server of the settings `ldap_*`. Needs the package ldap3."""

    def __init__(self, settings: Settings) -> None:
        """Raises ConfigurationError if settings contradict each other, or the package is missing."""
        _check(settings)
        try:
            import ldap3
        except ImportError:
            raise ConfigurationError("LDAP needs the package ldap3: run  pip install 'metastore[ldap]'") from None
        self._ldap: Any = ldap3
        self._settings = settings
        authorities = str(settings.ldap_ca) if settings.ldap_ca else None
        tls = ldap3.Tls(validate=ssl.CERT_REQUIRED, ca_certs_file=authorities)
        self._server = ldap3.Server(settings.ldap_url, tls=tls, connect_timeout=_TIMEOUT, get_info=ldap3.NONE)
        self._is_silent = False
        self._turn = threading.Lock()
        if settings.ldap_bind_dn:
            self._bind_password()  # reports an unreadable file at start

    @property
    def can_look_up(self) -> bool:
        """Whether the entry of a user can be found without the user's password."""
        return bool(self._settings.ldap_user_base or self._settings.ldap_bind_dn)

    def check(self, user: str, password: str) -> Identity | None:
        """Binds as this user. Returns the identity under its canonical name, or None if name or password is wrong.

        Raises AuthenticationUnavailableError if the directory does not respond, AuthenticationFailedError if the user
        must change the password first.
        """
        name = canonical_name(user)
        if not name or not password:  # an empty password would be an anonymous bind, which succeeds (RFC 4513, 5.1.2)
            return None
        try:
            dn = self._dn(name)
            if dn is None:
                return None
            with self._connection(dn, password) as connection:
                try:
                    accepted = connection.bind(controls=[(_POLICY, False, None)])
                except self._ldap.core.exceptions.LDAPSASLPrepError:  # in no password: RFC 4513, 5.1.3
                    return None
                if not accepted and connection.result["result"] in _BUSY:
                    raise UnavailableError(f"LDAP rejects the bind: {connection.result['description']}")
                policy = connection.result.get("controls", {}).get(_POLICY)
                if accepted and policy and must_change(policy["value"]):  # the bind succeeds (OpenLDAP's pwdReset)
                    raise AuthenticationFailedError(f"{name} must change the password in LDAP before the login", name)
        except UnavailableError as error:
            raise AuthenticationUnavailableError("The LDAP directory does not answer; try again") from error
        return Identity(name, PASSWORD, credential=FOUND_IN_LDAP if self.can_look_up else "") if accepted else None

    def has(self, user: str) -> bool:
        """Returns whether the directory has an entry of the user. Raises UnavailableError."""
        with self._searching() as connection:
            if self._settings.ldap_user_base:
                return self._searched_dn(connection, user) is not None
            base = self._from_template(user)
            self._search(connection, base, "(objectClass=*)", search_scope=self._ldap.BASE, attributes=["1.1"])
            return bool(connection.entries)

    def groups(self, user: str) -> list[str]:
        """Lists the names of the user's groups.

        Raises UnavailableError; InvalidOperationError for another spelling of a name that has groups: the user would
        have the groups without the denies and quotas of the user.
        """
        name = canonical_name(user)
        if not self._settings.ldap_group_base or not name:
            return []
        groups = self._groups(name)
        if groups and user != name:
            raise InvalidOperationError(
                f"User {user} is {name} in LDAP: log in as {name}. A rule of METASTORE_KERBEROS_AUTH_TO_LOCAL with "
                "/L makes names lower case. Engines have rules of their own for names"
            )
        return groups

    def _groups(self, name: str) -> list[str]:
        with self._searching() as connection:
            dn = self._searched_dn(connection, name) if self._settings.ldap_user_base else self._from_template(name)
            if dn is None:
                return []
            names_by_group = self._groups_of(connection, name, dn)
            new = set(names_by_group) if self._settings.ldap_nested_groups else set()
            for _ in range(_MAX_DEPTH):
                above: dict[str, list[str]] = {}
                for group in sorted(new):
                    above |= self._groups_of(connection, "", group)
                new = above.keys() - names_by_group.keys()
                names_by_group |= above
                if not new:
                    break
            return sorted({text for names in names_by_group.values() for text in names})

    def _groups_of(self, connection: Any, user: str, dn: str) -> dict[str, list[str]]:
        """Returns the names of the groups that have this user or DN as a direct member, by the group's DN."""
        escape = self._ldap.utils.conv.escape_filter_chars
        wanted = self._settings.ldap_group_filter.replace("{user}", escape(user)).replace("{dn}", escape(dn))
        self._search(connection, self._settings.ldap_group_base, wanted, attributes=["cn"])
        return {entry.entry_dn: [str(text) for text in entry.cn.values] for entry in connection.entries}

    def _search(self, connection: Any, base: str, wanted: str, **options: Any) -> None:
        """Searches. Raises UnavailableError if the result is not complete: denies of missing groups would not apply."""
        connection.search(base, wanted, **options)
        ended_by_limit = "size_limit" in options and connection.result["result"] == _SIZE_LIMIT_EXCEEDED
        if connection.result["result"] not in _COMPLETE and not ended_by_limit:
            raise UnavailableError(f"LDAP does not complete the search in {base}: {connection.result['description']}")

    def _dn(self, user: str) -> str | None:
        if not self._settings.ldap_user_base:
            return self._from_template(user)
        with self._searching() as connection:
            return self._searched_dn(connection, user)

    def _from_template(self, user: str) -> str:
        escaped: str = self._ldap.utils.dn.escape_rdn(user)
        return self._settings.ldap_user_dn.replace("{user}", escaped)

    def _searched_dn(self, connection: Any, user: str) -> str | None:
        """Returns the DN of a user's only entry. Several entries count as none, because the user would be ambiguous."""
        escaped = self._ldap.utils.conv.escape_filter_chars(user)
        wanted = self._settings.ldap_user_filter.replace("{user}", escaped)
        compared = _COMPARED.findall(self._settings.ldap_user_filter)
        self._search(connection, self._settings.ldap_user_base, wanted, attributes=compared or ["1.1"], size_limit=2)
        entries = list(connection.entries)
        if len(entries) > 1:
            log.warning("ldap_user_filter matches several entries of user %r: the user cannot log in", user)
        if len(entries) != 1:
            return None
        values = [str(text) for name in compared if name in entries[0] for text in entries[0][name].values]
        if values and user not in map(canonical_name, values):  # Active Directory ignores accents, for example
            log.warning("user %r has the name %r in LDAP: the user cannot log in under another name", user, values[0])
            return None
        return str(entries[0].entry_dn)

    def _bind_password(self) -> str:
        path = self._settings.ldap_bind_password_file
        if path is None:
            raise ConfigurationError("ldap_bind_password_file is not set")
        try:
            return path.expanduser().read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"ldap_bind_password_file {path} cannot be read: {error}") from error

    @contextmanager
    def _searching(self) -> Iterator[Any]:
        """Yields a connection that may search. Raises UnavailableError if the directory does not permit it."""
        account = self._settings.ldap_bind_dn or None
        try:
            password = self._bind_password() if account else None
        except ConfigurationError as error:  # the file was readable at the start
            raise UnavailableError(str(error)) from error
        with self._connection(account, password) as connection:
            if not connection.bind():
                raise UnavailableError(f"LDAP rejects the bind of {account or 'an anonymous client'} (ldap_bind_dn)")
            yield connection

    @contextmanager
    def _connection(self, name: str | None, password: str | None) -> Iterator[Any]:
        """Yields an open connection. Raises UnavailableError if the directory does not respond.

        After the directory was silent, one thread at a time asks until it answers, and the others wait for a second: a
        directory that hangs must not occupy all threads.
        """
        in_turn = self._is_silent
        if in_turn and not self._turn.acquire(timeout=_PATIENCE):
            raise UnavailableError("LDAP does not answer")
        started = time.monotonic()
        try:
            with self._opened(name, password) as connection:
                yield connection
            self._is_silent = False
        except UnavailableError:
            self._is_silent = time.monotonic() - started > _SILENCE
            raise
        finally:
            if in_turn:
                self._turn.release()

    @contextmanager
    def _opened(self, name: str | None, password: str | None) -> Iterator[Any]:
        """Yields an open connection (`_connection`)."""
        connection = self._ldap.Connection(
            self._server,
            name,
            password,
            receive_timeout=_TIMEOUT,
            read_only=True,
            raise_exceptions=False,
            auto_referrals=False,  # they could lead passwords to any server, also without encryption
        )
        try:
            connection.open()
            if self._settings.ldap_start_tls and not connection.start_tls():
                raise UnavailableError("LDAP rejects StartTLS (ldap_start_tls)")
            yield connection
        except (self._ldap.core.exceptions.LDAPException, *_UNREADABLE) as error:
            log.warning("LDAP does not answer: %r", error)
            raise UnavailableError(f"LDAP does not answer: {error}") from error
        finally:
            self._disconnect(connection)

    def _disconnect(self, connection: Any) -> None:
        """Closes the connection, including a socket that ldap3 leaves open after a failed bind."""
        with suppress(self._ldap.core.exceptions.LDAPException):
            connection.unbind()
        if connection.socket is not None:
            connection.socket.close()


def _check(settings: Settings) -> None:
    """Raises ConfigurationError for contradictory settings."""
    url, user_base, user_filter = settings.ldap_url, settings.ldap_user_base, settings.ldap_user_filter
    if not user_base and "{user}" not in settings.ldap_user_dn:
        raise ConfigurationError(
            f"ldap_user_dn {settings.ldap_user_dn!r} must contain {{user}}: uid={{user}},ou=people,dc=…; "
            "or set ldap_user_base, the base DN of searches for users"
        )
    if user_base and settings.ldap_user_dn:
        raise ConfigurationError("set ldap_user_dn, or ldap_user_base and ldap_user_filter, but not both")
    if user_base and "{user}" not in user_filter:
        raise ConfigurationError(f"ldap_user_filter {user_filter!r} must contain {{user}}: (uid={{user}})")
    is_plain = url.startswith("ldap://") and (settings.ldap_start_tls or _LOOPBACK.match(url))
    if not (is_plain or (url.startswith("ldaps://") and not settings.ldap_start_tls)):
        raise ConfigurationError(
            f"ldap_url {url!r} must be ldaps://host, or ldap://host with ldap_start_tls=true: passwords are "
            "sent over this connection"
        )
    if bool(settings.ldap_bind_dn) != (settings.ldap_bind_password_file is not None):
        raise ConfigurationError("ldap_bind_dn and ldap_bind_password_file must be set together")
