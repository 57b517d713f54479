"""Requests of Iceberg's REST protocol that read.

Each calls the wire methods of the metastore as the caller, so that its rights, quotas and records apply.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from metastore.domain.names import DEFAULT_CATALOG, TableName, fold
from metastore.errors import MetastoreError, NotFoundError
from metastore.iceberg.errors import (
    BAD_REQUEST,
    NO_NAMESPACE,
    NO_TABLE,
    NO_VIEW,
    NO_WAREHOUSE,
    RestError,
    rest_error,
)
from metastore.iceberg.metadata import entity_tag, is_referred, load_result, names_tag, referred_snapshots
from metastore.iceberg.texts import MetadataTexts
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    GetDatabaseRequest,
    GetTableRequest,
    GetTablesRequest,
    PrincipalType,
    Table,
)

TABLE_TYPE: Final = "iceberg"
VIEW_TYPE: Final = "iceberg-view"
_TYPE: Final = "table_type"
_LOCATION: Final = "metadata_location"
_VIRTUAL_VIEW: Final = "VIRTUAL_VIEW"
_OWNER_TYPES: Final = {PrincipalType.USER: "USER", PrincipalType.ROLE: "ROLE", PrincipalType.GROUP: "GROUP"}
_AT_ONCE: Final = 1000  # tables whose types are read in one call
_LONGEST: Final = 10_000  # elements of a page


class Methods(Protocol):
    """Calls a wire method as the current caller. Raises MetastoreError."""

    def __call__(self, name: str, *arguments: Any) -> Any: ...


class Page(NamedTuple):
    """The part of a list that a client asks for. `token`: None: all of it; else the name before its first one."""

    token: str | None = None
    size: int = 0


class Loaded(NamedTuple):
    """A table or view. `body`: None if the client has it already."""

    tag: str
    body: bytes | None


class Found(NamedTuple):
    """A table or view: its name, the location of its metadata, its row, and the type of the error if it is missing."""

    name: TableName
    location: str
    row: Table
    missing: str


def loaded(location: str, metadata: bytes) -> Loaded:
    """Returns the answer with the metadata of a table or view."""
    return Loaded(entity_tag(location, referred=False), load_result(location, metadata))


class Reader:
    """Answers requests that read."""

    def __init__(
        self,
        methods: Methods,
        texts: MetadataTexts,
        require_select: Callable[[TableName], object],
    ) -> None:
        """`require_select`: raises PermissionDeniedError or NotFoundError if the caller may not read a table."""
        self._methods = methods
        self.metadata = texts.read
        self._require_select = require_select

    def config(self, warehouse: str, endpoints: Sequence[str], lifetime: str) -> dict[str, Any]:
        """Returns the configuration for clients. `warehouse`: the name of a catalog; empty: the default one.
        `lifetime`: how long keys of requests are kept.
        """
        catalog = fold(warehouse) or DEFAULT_CATALOG
        known = self._methods("get_catalogs").names
        if catalog not in known:
            message = (
                f"There is no catalog {warehouse}. The property warehouse names one of: {', '.join(sorted(known))}"
            )
            raise RestError(404, NO_WAREHOUSE, message)
        overrides = {} if catalog == DEFAULT_CATALOG else {"prefix": catalog}
        answer: dict[str, Any] = {"defaults": {}, "overrides": overrides, "endpoints": list(endpoints)}
        return answer | {"idempotency-key-lifetime": lifetime}

    def namespaces(self, catalog: str, parent: Sequence[str], page: Page) -> dict[str, Any]:
        """Lists the databases. They have no namespaces below them."""
        if parent:
            self.namespace(catalog, parent)
            return {"namespaces": [], "next-page-token": None}
        names, following = _page(self._methods("get_databases", f"@{catalog}#"), page)
        return {"namespaces": [[name] for name in names], "next-page-token": following}

    def namespace(self, catalog: str, namespace: Sequence[str]) -> dict[str, Any]:
        """Returns a database and its properties, by the names that Java's HiveCatalog gives them."""
        database = self.database(catalog, namespace)
        properties = dict(database.parameters or {})
        for key, value in (
            ("location", database.locationUri),
            ("comment", database.description),
            ("hive.metastore.database.owner", database.ownerName),
            ("hive.metastore.database.owner-type", _OWNER_TYPES.get(database.ownerType)),
        ):
            if value:
                properties[key] = value
        return {"namespace": [database.name], "properties": properties}

    def tables(self, catalog: str, namespace: Sequence[str], page: Page) -> dict[str, Any]:
        """Lists the Iceberg tables of a database. Hive tables are not listed."""
        return self._identifiers(catalog, namespace, page, TABLE_TYPE, None)

    def views(self, catalog: str, namespace: Sequence[str], page: Page) -> dict[str, Any]:
        """Lists the Iceberg views of a database."""
        return self._identifiers(catalog, namespace, page, VIEW_TYPE, _VIRTUAL_VIEW)

    def load_table(
        self, catalog: str, namespace: Sequence[str], name: str, snapshots: str = "", if_none_match: str = ""
    ) -> Loaded:
        """Returns the metadata of an Iceberg table. `snapshots`: all or refs. `if_none_match`: ETags of the client."""
        referred = is_referred(snapshots)
        found = self.find_table(catalog, namespace, name)
        location = found.location
        tag = entity_tag(location, referred=referred)
        self.check_readable(found)
        if if_none_match and names_tag(if_none_match, tag):
            return Loaded(tag, None)
        metadata = self.metadata(location)
        if referred:
            metadata = referred_snapshots(metadata, location)
        return Loaded(tag, load_result(location, metadata))

    def load_view(self, catalog: str, namespace: Sequence[str], name: str) -> Loaded:
        """Returns the metadata of an Iceberg view."""
        found = self.find_view(catalog, namespace, name)
        self.check_readable(found)
        return loaded(found.location, self.metadata(found.location))

    def find_table(self, catalog: str, namespace: Sequence[str], name: str) -> Found:
        """Returns an Iceberg table. Raises RestError if there is none."""
        return self._find(catalog, namespace, name, TABLE_TYPE, NO_TABLE)

    def find_view(self, catalog: str, namespace: Sequence[str], name: str) -> Found:
        """Returns an Iceberg view. Raises RestError if there is none."""
        return self._find(catalog, namespace, name, VIEW_TYPE, NO_VIEW)

    def find_any(self, database: str, name: str, catalog: str) -> Table | None:
        """Returns a table or view of any kind; None if there is none that the caller may see."""
        try:
            table: Table = self._methods(
                "get_table_req", GetTableRequest(database, name, catName=catalog)
            ).table.decode()
        except NotFoundError:
            return None
        except MetastoreError as error:
            raise rest_error(error) from error
        return table

    def database(self, catalog: str, namespace: Sequence[str]) -> Database:
        """Returns the database of a namespace. Raises RestError if there is none."""
        if len(namespace) != 1:
            raise RestError(
                404, NO_NAMESPACE, f"Namespace does not exist: {'.'.join(namespace)}. Databases have one level"
            )
        request = GetDatabaseRequest(namespace[0], catalog)
        try:
            database: Database = self._methods("get_database_req", request).decode()
        except NotFoundError:
            raise RestError(404, NO_NAMESPACE, f"Namespace does not exist: {namespace[0]}") from None
        except MetastoreError as error:
            raise rest_error(error, NO_NAMESPACE) from error
        return database

    def _identifiers(
        self, catalog: str, namespace: Sequence[str], page: Page, wanted: str, kind: str | None
    ) -> dict[str, Any]:
        database = self.database(catalog, namespace)
        names = self._methods("get_tables_by_type", f"@{catalog}#{database.name}", None, kind)
        listed, following = _page(self._of_type(catalog, database.name, names, wanted), page)
        identifiers = [{"namespace": [database.name], "name": name} for name in listed]
        return {"identifiers": identifiers, "next-page-token": following}

    def _of_type(self, catalog: str, database: str, names: Sequence[str], wanted: str) -> Iterable[str]:
        for start in range(0, len(names), _AT_ONCE):
            request = GetTablesRequest(database, list(names[start : start + _AT_ONCE]), catName=catalog)
            for table in self._methods("get_table_objects_by_name_req", request).tables:
                if type_of(table) == wanted:
                    yield table.tableName

    def _find(self, catalog: str, namespace: Sequence[str], name: str, wanted: str, missing: str) -> Found:
        """Returns a table or view of this type. Raises RestError."""
        full = f"{'.'.join(namespace)}.{name}"
        what = "View" if wanted == VIEW_TYPE else "Table"
        if len(namespace) != 1:
            raise RestError(404, missing, f"{what} does not exist: {full}. Databases have one level")
        try:
            request = GetTableRequest(namespace[0], name, catName=catalog)
            table: Table = self._methods("get_table_req", request).table.decode()
        except NotFoundError:
            raise RestError(404, missing, f"{what} does not exist: {full}") from None
        except MetastoreError as error:
            raise rest_error(error, missing) from error
        location = (table.parameters or {}).get(_LOCATION)
        if type_of(table) != wanted or not location:
            text = f"{what} does not exist: {full} is {_described(table)}. Read it through Thrift"
            raise RestError(404, missing, text)
        return Found(TableName.of(table), location, table, missing)

    def check_readable(self, found: Found) -> None:
        """Raises RestError unless the caller may read a table or view."""
        try:
            self._require_select(found.name)
        except MetastoreError as error:
            raise rest_error(error, found.missing) from error


def type_of(table: Table) -> str:
    """Returns the parameter `table_type` of a table, in lower case."""
    return str((table.parameters or {}).get(_TYPE, "")).lower()


def _described(table: Table) -> str:
    found = type_of(table)
    if found == TABLE_TYPE:
        return "an Iceberg table"
    if found == VIEW_TYPE:
        return "an Iceberg view"
    return "a Hive view" if table.tableType == _VIRTUAL_VIEW else "a Hive table"


def _page(names: Iterable[str], page: Page) -> tuple[list[str], str | None]:
    """Returns the names of a page in ascending order, and the token of the next one.

    A client that sends no token gets all names: it does not ask for a second page.
    """
    ordered = sorted(names)
    if page.token is None or not page.size:
        return ordered, None
    start = bisect_right(ordered, page.token) if page.token else 0
    listed = ordered[start : start + page.size]
    return listed, listed[-1] if start + page.size < len(ordered) else None


def requested_page(parameters: Mapping[str, str]) -> Page:
    """Returns the page that a request asks for by `pageToken` and `pageSize`. Raises RestError."""
    text = parameters.get("pageSize", "")
    if text and (not text.isdecimal() or not 0 < int(text) <= _LONGEST):
        raise RestError(400, BAD_REQUEST, f"pageSize={text} is not a number from 1 to {_LONGEST}")
    return Page(parameters.get("pageToken"), int(text or 0))
