"""LDAP: verifies passwords by binding as the user, and looks up groups."""

from __future__ import annotations

import logging
import re
import ssl
import unicodedata
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from metastore.errors import ConfigurationError
from metastore.identity import PASSWORD, AuthenticationUnavailableError, Identity

log = logging.getLogger("metastore.security")

_TIMEOUT: Final = 5  # seconds to connect, and seconds to wait for each response


def canonical_name(user: str) -> str | None:
    """Returns the only spelling of a directory user's name: NFKC, lower case; None if the name is not allowed.

    Directories compare names without case, width and outer blanks (caseIgnoreMatch, RFC 4517 and 4518). Grants and
    quotas compare exact names, so without this one person could log in as several users. Names with outer or double
    blanks and with invisible characters are rejected, because directories ignore those as well.
    """
    name = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", user).lower())
    return name if name.isprintable() and name == " ".join(name.split()) and name else None


class Directory:
    """An LDAP server. Needs the package ldap3.

    `user_dn`: template of users' DNs, with {user} for the name. `group_base`, `group_filter`: search base and filter
    for groups, with {user} and {dn}; the `cn` of a match is the group name. Without `group_base`, users have no groups.
    """

    def __init__(self, url: str, user_dn: str, *, authorities: Path | None, group_base: str, group_filter: str) -> None:
        """Raises ConfigurationError if the package is missing or a setting is invalid."""
        try:
            import ldap3
        except ImportError:
            raise ConfigurationError("LDAP needs the package ldap3: run  pip install 'metastore[ldap]'") from None
        if "{user}" not in user_dn:
            raise ConfigurationError(f"ldap_user_dn {user_dn!r} must contain {{user}}: uid={{user}},ou=people,dc=…")
        if not (url.startswith("ldaps://") or re.match(r"ldap://(localhost|127\.0\.0\.1|\[::1\])(:|/|$)", url)):
            raise ConfigurationError(f"ldap_url {url!r} must be ldaps://host: passwords are sent over this connection")
        self._ldap: Any = ldap3
        tls = ldap3.Tls(validate=ssl.CERT_REQUIRED, ca_certs_file=str(authorities) if authorities else None)
        self._server = ldap3.Server(url, tls=tls, connect_timeout=_TIMEOUT, get_info=ldap3.NONE)
        self._user_dn = user_dn
        self._group_base, self._group_filter = group_base, group_filter

    def check(self, user: str, password: str) -> Identity | None:
        """Binds as this user. Returns the identity under its canonical name, or None if name or password is wrong.

        Raises AuthenticationUnavailableError if the directory does not respond.
        """
        name = canonical_name(user)
        if not name or not password:  # an empty password would be an anonymous bind, which succeeds (RFC 4513, 5.1.2)
            return None
        connection = self._connection(self._dn(name), password)
        try:
            return Identity(name, PASSWORD) if connection.bind() else None
        except self._ldap.core.exceptions.LDAPException as error:
            log.warning("LDAP does not answer: %s", error)
            raise AuthenticationUnavailableError("The LDAP directory does not answer; try again") from error
        finally:
            self._disconnect(connection)

    def groups(self, user: str) -> list[str]:
        """Lists the names of the user's groups; empty if the directory does not respond."""
        name = canonical_name(user)
        if not self._group_base or not name:
            return []
        escape = self._ldap.utils.conv.escape_filter_chars
        connection = self._connection(None, None)
        try:
            if not connection.bind():
                return []
            search = self._group_filter.replace("{user}", escape(name)).replace("{dn}", escape(self._dn(name)))
            connection.search(self._group_base, search, attributes=["cn"])
            return sorted(str(group) for entry in connection.entries for group in entry.cn.values)
        except self._ldap.core.exceptions.LDAPException as error:
            log.warning("LDAP does not answer; user %s has no groups for now: %s", user, error)
            return []
        finally:
            self._disconnect(connection)

    def _disconnect(self, connection: Any) -> None:
        """Closes the connection, including a socket that ldap3 leaves open after a failed bind."""
        with suppress(self._ldap.core.exceptions.LDAPException):
            connection.unbind()
        if connection.socket is not None:
            connection.socket.close()

    def _dn(self, user: str) -> str:
        escaped: str = self._ldap.utils.dn.escape_rdn(user)
        return self._user_dn.replace("{user}", escaped)

    def _connection(self, name: str | None, password: str | None) -> Any:
        return self._ldap.Connection(self._server, name, password, receive_timeout=_TIMEOUT, read_only=True)
