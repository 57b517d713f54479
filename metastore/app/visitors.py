"""The users of the HTTP port's protocols: authentication, and calls of wire methods on their behalf."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeVar

from metastore.app.worker import Application
from metastore.context import Caller, caller
from metastore.domain.client_kinds import OTHER
from metastore.monitoring.shared_metrics import WorkerMetrics
from metastore.security.groups import Groups
from metastore.security.listener_settings import listeners
from metastore.settings import Settings
from metastore.web.console.authentication import ConsoleAuthenticator, Visitor
from metastore.web.console.sessions import Sessions

CONNECTIONS: Final = 4
"""Connections to the database, and requests at a time."""

_TIMEOUT: Final = 5.0  # seconds to wait for a connection
T = TypeVar("T")


class Visitors:
    """Calls wire methods for the senders of requests: within their rights and quotas, and with a record."""

    def __init__(self, settings: Settings, url: str, metrics: WorkerMetrics) -> None:
        """`url`: of the database; `metrics`: the slot of this process. Raises ConfigurationError."""
        bounded = replace(settings, pool_size=CONNECTIONS, pool_timeout=_TIMEOUT)
        self.application = Application(bounded, url, metrics=metrics, unregistered="metastore http")
        self.application.start_answering()
        self._groups, self._connections = Groups(settings), itertools.count(1)
        methods = frozenset[str]().union(*(listener.authentication for listener in listeners(settings)))
        sessions = Sessions(self.application.authenticator.ended, settings.session_max_age)
        self.authenticator = ConsoleAuthenticator(self.application.authenticator, methods, sessions)

    def ask(self, name: str, *arguments: Any) -> Any:
        """Calls a wire method as the current visitor. Raises the errors of its handler."""
        current = caller.get()
        assert current is not None  # noqa: S101 - set by `as_visitor`: this tells mypy
        return self.application.dispatcher.ask(current, name, *arguments)

    def as_visitor(self, visitor: Visitor, function: Callable[[], T]) -> T:
        """Calls a function whose calls are those of a visitor."""
        looked_up = self._groups.of(visitor.user) if visitor.user else []
        of_visitor = Caller(visitor.peer, visitor.user, [*dict.fromkeys([*looked_up, *visitor.groups])], visitor.method)
        of_visitor.client, of_visitor.connection = OTHER, next(self._connections)
        token = caller.set(of_visitor)
        try:
            return function()
        finally:
            caller.reset(token)
            self.application.dispatcher.closed(of_visitor)
