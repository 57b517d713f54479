"""Passwords and groups in a directory: LDAP, by a bind as the user."""

from __future__ import annotations

import logging
import re
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from metastore.errors import ConfigurationError
from metastore.identity import PASSWORD, AuthenticationFailedError, Identity

log = logging.getLogger("metastore.security")

_TIMEOUT: Final = 5  # seconds, to connect and for an answer


class Directory:
    """An LDAP server. `user_dn`: the names of users there, with {user} in place of what a client says.

    `group_base` and `group_filter`: where groups are looked for, and by which filter ({user}, {dn}); their `cn` is the
    group's name. Without `group_base`, there are none. Needs the package ldap3.
    """

    def __init__(self, url: str, user_dn: str, *, authorities: Path | None, group_base: str, group_filter: str) -> None:
        """Raises ConfigurationError."""
        try:
            import ldap3
        except ImportError:
            raise ConfigurationError("LDAP needs the package ldap3: run  pip install 'metastore[ldap]'") from None
        if "{user}" not in user_dn:
            raise ConfigurationError(
                f"ldap_user_dn is {user_dn!r}, but must name {{user}}: uid={{user}},ou=people,dc=…"
            )
        if not (url.startswith("ldaps://") or re.match(r"ldap://(localhost|127\.0\.0\.1|\[::1\])(:|/|$)", url)):
            raise ConfigurationError(f"ldap_url is {url!r}, but must be ldaps://host: passwords are sent there")
        self._ldap: Any = ldap3
        tls = ldap3.Tls(validate=ssl.CERT_REQUIRED, ca_certs_file=str(authorities) if authorities else None)
        self._server = ldap3.Server(url, tls=tls, connect_timeout=_TIMEOUT, get_info=ldap3.NONE)
        self._user_dn = user_dn
        self._group_base, self._group_filter = group_base, group_filter

    def check(self, user: str, password: str) -> Identity | None:
        """Binds as this user. Returns None if the password is wrong. Raises AuthenticationFailedError on timeout.

        An empty password would be taken by many as nobody's (RFC 4513, 5.1.2): it never gets here.
        """
        if not password:
            return None
        connection = self._connection(self._dn(user), password)
        try:
            return Identity(user, PASSWORD) if connection.bind() else None
        except self._ldap.core.exceptions.LDAPException as error:
            log.warning("LDAP does not answer: %s", error)
            raise AuthenticationFailedError(
                "The directory (LDAP) that knows the passwords does not answer; try again"
            ) from error
        finally:
            self._hang_up(connection)

    def groups(self, user: str) -> list[str]:
        """Returns the names of the user's groups; none where the directory does not answer."""
        if not self._group_base:
            return []
        escape = self._ldap.utils.conv.escape_filter_chars
        connection = self._connection(None, None)
        try:
            if not connection.bind():
                return []
            wanted = self._group_filter.replace("{user}", escape(user)).replace("{dn}", escape(self._dn(user)))
            connection.search(self._group_base, wanted, attributes=["cn"])
            found = [str(name) for entry in connection.entries for name in entry.cn.values]
        except self._ldap.core.exceptions.LDAPException as error:
            log.warning("LDAP does not answer, %s has no groups: %s", user, error)
            return []
        finally:
            self._hang_up(connection)
        return sorted(found)

    def _hang_up(self, connection: Any) -> None:
        """Closes the socket, also one that was opened in vain."""
        with suppress(self._ldap.core.exceptions.LDAPException):
            connection.unbind()
        if connection.socket is not None:
            connection.socket.close()

    def _dn(self, user: str) -> str:
        escaped: str = self._ldap.utils.dn.escape_rdn(user)
        return self._user_dn.replace("{user}", escaped)

    def _connection(self, name: str | None, password: str | None) -> Any:
        return self._ldap.Connection(self._server, name, password, receive_timeout=_TIMEOUT, read_only=True)
