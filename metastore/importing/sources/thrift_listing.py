"""Lists databases and tables through Thrift."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from metastore.domain.names import DEFAULT_CATALOG, DatabaseName
from metastore.errors import NotFoundError, UnavailableError
from metastore.importing.sources.broken import UNREADABLE
from metastore.importing.sources.objects import Selection, type_of
from metastore.importing.sources.texts import storable
from metastore.importing.sources.thrift_calls import (
    UNREADABLE_REPLY,
    ThriftCalls,
    UnsupportedCallError,
    in_catalog,
)
from metastore.storage.importing.imports import Finding
from metastore.storage.mapping.descriptors import complete
from thrift_idl.gen.hive_metastore.ttypes import ClientCapabilities, ClientCapability, GetTablesRequest, Table

TABLES: Final = 100
_CAPABILITIES: Final = ClientCapabilities([ClientCapability.INSERT_ONLY_TABLES])
_RAW: Final = ["MANAGERAWMETADATA"]
"""With this capability, a server of Hive 4 returns tables as they are stored (MetastoreDefaultTransformer)."""


class ThriftListing:
    """Databases and tables in the order of their names. Cursors compare as the tables are ordered."""

    def __init__(self, calls: ThriftCalls) -> None:
        self.calls = calls
        self._databases: list[DatabaseName] | None = None

    def forget(self) -> None:
        """Forgets the databases, so that new ones are found."""
        self._databases = None

    def databases(self, selection: Selection) -> list[DatabaseName]:
        """Lists the selected databases."""
        if self._databases is None:
            reply = self.calls.optional("get_catalogs")
            listed: list[DatabaseName] = []
            for catalog in sorted(reply.names if reply else [DEFAULT_CATALOG]):
                if catalog == DEFAULT_CATALOG:
                    names = self.calls.call("get_all_databases")
                else:
                    names = self.calls.call("get_databases", f"@{catalog}#*")
                listed += [DatabaseName(catalog, name.lower()) for name in sorted(names)]
            self._databases = list(dict.fromkeys(listed))
        return [name for name in self._databases if selection.has(name)]

    def table_names(self, database: DatabaseName) -> list[str]:
        """Lists the tables of a database, ascending. Empty if the database no longer exists. A table without a name,
        which no client can read, is reported. Raises UnavailableError for other errors: a follower would drop the
        tables that are not listed.
        """
        try:
            names = self.calls.call("get_all_tables", in_catalog(database.catalog, database.name))
            if "" in names:
                detail = "no client can read it: it is not imported"
                self.calls.broken.note(Finding(UNREADABLE, f"table without a name in {database}", detail))
            return sorted(filter(None, names))
        except NotFoundError:
            return []
        except UnsupportedCallError as error:
            raise UnavailableError(f"{self.calls.address} cannot list the tables of {database}: {error}") from None

    def tables(
        self, after: str, selection: Selection, *, inclusive: bool = False
    ) -> Iterator[tuple[str, list[Table], list[Finding]]]:
        """Yields some tables at a time: the cursor after them, the tables, and those that cannot be read.

        `inclusive`: begins with the table of the cursor instead of the one after it.
        """
        for database in self.databases(selection):
            names = [
                name
                for name in self.table_names(database)
                if (at := cursor(database, name)) > after or (inclusive and at == after)
            ]
            for start in range(0, len(names), TABLES):
                some = names[start : start + TABLES]
                findings: list[Finding] = []
                yield cursor(database, some[-1]), self.read(database, some, findings), findings

    def read(self, database: DatabaseName, names: Sequence[str], findings: list[Finding]) -> list[Table]:
        """Returns the tables that exist. A table that the server cannot read is reported; the others are still
        returned.
        """
        try:
            tables = self._by_names(database, list(names))
        except NotFoundError:
            return []
        except UNREADABLE_REPLY as error:
            if len(names) > 1:
                return [table for one in names for table in self.read(database, [one], findings)]
            findings.append(Finding(UNREADABLE, f"{database}.{names[0]}", str(error)))
            return []
        owned = (self.calls.owned(f"table {database}.{table.tableName}", table, "owner") for table in tables)
        completed = (_completed(storable(table, self.calls.replaced), database) for table in owned)
        by_name = {str(table.tableName): table for table in completed}  # a source may send a table twice
        return [by_name[name] for name in sorted(by_name)]

    def _by_names(self, database: DatabaseName, names: list[str]) -> list[Table]:
        """Fetches tables by the method of Hive 2.3 and later. Hive 4.0.1 no longer has the older method."""
        request = GetTablesRequest(
            database.name, names, _CAPABILITIES, catName=database.catalog, processorCapabilities=_RAW
        )
        try:
            return list(self.calls.call("get_table_objects_by_name_req", request).tables)
        except UnsupportedCallError as error:
            name = in_catalog(database.catalog, database.name)
            try:
                return list(self.calls.call("get_table_objects_by_name", name, names))
            except UnsupportedCallError:
                raise error from None


def cursor(database: DatabaseName, table: str) -> str:
    """Returns the cursor of a table."""
    return f"{database.catalog}\t{database.name}\t{table}"


def cursor_of(table: Table) -> str:
    """Returns the cursor of a table."""
    return cursor(DatabaseName(table.catName, table.dbName), table.tableName)


def _completed(table: Table, database: DatabaseName) -> Table:
    table.catName, table.dbName, table.tableName = database.catalog, database.name, table.tableName.lower()
    table.sd = complete(table.sd)
    table.parameters, table.partitionKeys = table.parameters or {}, table.partitionKeys or []
    table.tableType = table.tableType or type_of(table.parameters, table.viewOriginalText)
    table.privileges = table.temporary = None
    table.createTime = table.createTime or 0
    return table
