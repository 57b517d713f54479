"""Who a connection's caller is: what it says itself, and what it may say of itself."""

from __future__ import annotations

from metastore.context import Caller, caller
from metastore.errors import InvalidOperationError
from metastore.identity import TOKEN
from metastore.security.groups import Groups
from metastore.security.proxy_users import ProxyUsers


class CallerService:
    """A proved name stays, except for those that may act for others."""

    def __init__(self, groups: Groups, proxies: ProxyUsers) -> None:
        self._groups = groups
        self._proxies = proxies

    def set_ugi(self, user: str | None, groups: list[str] | None) -> list[str]:
        """Returns the caller's groups, of a proved name with the name at their end, as Hive does.

        Raises InvalidOperationError where the caller acts for others, but not for this one.
        """
        current = caller.get()
        if current is None or not current.authentication:
            if current is not None:
                _become(current, user, list(groups or []))
            return list(groups or [])
        real = current.real_user or current.user or ""
        wanted = user or real
        if wanted != current.user and current.authentication != TOKEN and self._proxies.has(real):
            if wanted != real and not self._proxies.may_act(real, wanted, current.peer):
                raise InvalidOperationError(
                    f"User: {real} is not allowed to impersonate {wanted} (METASTORE_PROXY_USERS)"
                )
            _become(current, wanted, self._groups.of(wanted))
            current.real_user = None if wanted == real else real
        return [*current.groups, current.user or ""]


def _become(current: Caller, user: str | None, groups: list[str]) -> None:
    """Makes a connection another user's: for him, nothing counts that the one before has set."""
    if current.user not in (None, user):
        current.meta_confs.clear()
    current.user, current.groups = user, groups
