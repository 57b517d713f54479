"""The caller of a connection: user and groups, as authenticated or as the client sets them."""

from __future__ import annotations

from metastore.context import Caller, caller
from metastore.errors import InvalidOperationError
from metastore.identity import TOKEN
from metastore.security.groups import Groups
from metastore.security.proxy_users import ProxyUsers


class CallerService:
    """Rules of set_ugi. An authenticated user keeps its name, unless it may impersonate others."""

    def __init__(self, groups: Groups, proxies: ProxyUsers) -> None:
        self._groups = groups
        self._proxies = proxies

    def set_ugi(self, user: str | None, groups: list[str] | None) -> list[str]:
        """Sets the caller, if permitted. Returns its groups and, as Hive does, an authenticated user's name at the end.

        Raises InvalidOperationError if the caller may impersonate users, but not this one.
        """
        current = caller.get()
        if current is None or not current.authentication:
            if current is not None:
                _become(current, user, list(groups or []))
            return list(groups or [])
        real = current.real_user or current.user or ""
        requested = user or real
        if requested != current.user and current.authentication != TOKEN and self._proxies.has(real):
            if requested != real and not self._proxies.may_act(real, requested, current.peer):
                raise InvalidOperationError(
                    f"User: {real} is not allowed to impersonate {requested} (METASTORE_PROXY_USERS)"
                )
            _become(current, requested, self._groups.of(requested))
            current.real_user = None if requested == real else real
        return [*current.groups, current.user or ""]


def _become(current: Caller, user: str | None, groups: list[str]) -> None:
    """Changes the user of a connection. Settings of the previous user are discarded."""
    if current.user not in (None, user):
        current.meta_confs.clear()
    current.user, current.groups = user, groups
