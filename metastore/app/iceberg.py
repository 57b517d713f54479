"""Connects Iceberg's REST catalog with the users, the wire methods and the files."""

from __future__ import annotations

from metastore.app.visitors import CONNECTIONS, Visitors
from metastore.app.worker import Application
from metastore.context import caller
from metastore.domain.names import TableName
from metastore.domain.permissions import RequiredPrivilege
from metastore.domain.privileges import Right
from metastore.iceberg.commits import Committer
from metastore.iceberg.namespaces import Namespaces
from metastore.iceberg.reading import Reader
from metastore.iceberg.repetitions import Repetitions
from metastore.iceberg.texts import MetadataTexts
from metastore.iceberg.writing import Writer
from metastore.web.iceberg import Catalog, IcebergRoutes


def make_iceberg(visitors: Visitors, *, read_only: bool) -> IcebergRoutes:
    """Returns the routes. `read_only`: the server accepts no writes."""
    application, ask = visitors.application, visitors.ask

    def require_select(table: TableName) -> None:
        application.require(RequiredPrivilege(table, (Right.SELECT,)))

    def user() -> str | None:
        current = caller.get()
        return current.user if current else None

    reader = Reader(ask, MetadataTexts(application), require_select)
    committer = Committer(ask, WarehouseFiles(application), application.require, user)
    repetitions = Repetitions(application.find_request, application.record_request, user, reader)
    catalog = Catalog(reader, Writer(ask, reader, committer), Namespaces(ask, reader), repetitions)
    return IcebergRoutes(visitors.authenticator, catalog, visitors.as_visitor, CONNECTIONS, read_only=read_only)


class WarehouseFiles:
    """The files of tables within the roots."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def write(self, location: str, content: bytes) -> None:
        self._application.write_file(location, content)

    def delete(self, location: str) -> None:
        self._application.delete_file(location)
