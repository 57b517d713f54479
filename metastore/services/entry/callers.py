"""Who a connection's caller is: what it says itself, and what it may say of itself."""

from __future__ import annotations

from metastore.context import caller
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
                current.user, current.groups = user, list(groups or [])
            return list(groups or [])
        real = current.real_user or current.user or ""
        wanted = user or real
        if wanted != current.user and current.authentication != TOKEN and self._proxies.has(real):
            if wanted != real and not self._proxies.may_act(real, wanted, current.peer):
                raise InvalidOperationError(
                    f"User: {real} is not allowed to impersonate {wanted} (METASTORE_PROXY_USERS)"
                )
            current.user, current.real_user = wanted, None if wanted == real else real
            current.groups = self._groups.of(wanted)
        return [*current.groups, current.user or ""]
