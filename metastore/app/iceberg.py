"""Connects Iceberg's REST catalog with the users, the wire methods and the files."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeVar

from metastore.app.worker import Application
from metastore.context import Caller, caller
from metastore.domain.client_kinds import OTHER
from metastore.domain.names import TableName
from metastore.domain.permissions import RequiredPrivilege
from metastore.domain.privileges import Right
from metastore.iceberg.commits import Committer
from metastore.iceberg.namespaces import Namespaces
from metastore.iceberg.reading import Reader
from metastore.iceberg.repetitions import Repetitions
from metastore.iceberg.writing import Writer
from metastore.monitoring.shared_metrics import WorkerMetrics
from metastore.security.groups import Groups
from metastore.security.listener_settings import listeners
from metastore.settings import Settings
from metastore.web.console.authentication import ConsoleAuthenticator, Visitor
from metastore.web.console.sessions import Sessions
from metastore.web.iceberg import Catalog, IcebergRoutes

_CONNECTIONS: Final = 4  # to the database, and requests at a time
_TIMEOUT: Final = 5.0  # seconds to wait for a connection
T = TypeVar("T")


def make_iceberg(settings: Settings, url: str, metrics: WorkerMetrics) -> IcebergRoutes:
    """Returns the routes. `url`: of the database; `metrics`: the slot of this process. Raises ConfigurationError."""
    bounded = replace(settings, pool_size=_CONNECTIONS, pool_timeout=_TIMEOUT)
    application = Application(bounded, url, metrics=metrics)
    application.start_answering()
    dispatcher = application.dispatcher
    groups, connections = Groups(settings), itertools.count(1)

    def ask(name: str, *arguments: Any) -> Any:
        current = caller.get()
        assert current is not None  # noqa: S101 - set by `as_visitor`: this tells mypy
        return dispatcher.ask(current, name, *arguments)

    def require_select(table: TableName) -> None:
        application.require(RequiredPrivilege(table, (Right.SELECT,)))

    def user() -> str | None:
        current = caller.get()
        return current.user if current else None

    def as_visitor(visitor: Visitor, function: Callable[[], T]) -> T:
        looked_up = groups.of(visitor.user) if visitor.user else []
        of_visitor = Caller(visitor.peer, visitor.user, [*dict.fromkeys([*looked_up, *visitor.groups])], visitor.method)
        of_visitor.client, of_visitor.connection = OTHER, next(connections)
        token = caller.set(of_visitor)
        try:
            return function()
        finally:
            caller.reset(token)
            dispatcher.closed(of_visitor)

    methods = frozenset[str]().union(*(listener.authentication for listener in listeners(settings)))
    sessions = Sessions(application.authenticator.ended, settings.session_max_age)
    authenticator = ConsoleAuthenticator(application.authenticator, methods, sessions)
    reader = Reader(ask, application.read_file, require_select)
    committer = Committer(ask, _WarehouseFiles(application), application.require, user)
    repetitions = Repetitions(application.find_request, user, reader)
    catalog = Catalog(reader, Writer(ask, reader, committer), Namespaces(ask, reader), repetitions)
    return IcebergRoutes(authenticator, catalog, as_visitor, _CONNECTIONS, read_only=settings.read_only)


class _WarehouseFiles:
    """The files of tables within the roots."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def write(self, location: str, content: bytes) -> None:
        self._application.write_file(location, content)

    def delete(self, location: str) -> None:
        self._application.delete_file(location)
