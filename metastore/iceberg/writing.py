"""Requests of Iceberg's REST protocol that change tables and views."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final
from uuid import uuid4

from metastore.domain.names import TableName, fold
from metastore.errors import AlreadyExistsError, InvalidOperationError, MetastoreError
from metastore.iceberg.commits import Change, Committed, Committer
from metastore.iceberg.errors import (
    ALREADY_EXISTS,
    BAD_REQUEST,
    UNAVAILABLE,
    RestError,
    commit_failed,
    rest_error,
)
from metastore.iceberg.metadata import load_result
from metastore.iceberg.reading import TABLE_TYPE, Found, Loaded, Methods, Reader, loaded, type_of
from metastore.iceberg.repetitions import note_location
from metastore.iceberg.requirements import is_create
from metastore.iceberg.rows import VIRTUAL_VIEW
from metastore.iceberg.tables import committed, created, created_by_updates, document
from metastore.iceberg.updates import field
from metastore.iceberg.views import committed_view, created_view
from thrift_idl.gen.hive_metastore.ttypes import AlterTableRequest, DropTableRequest, EnvironmentContext, Table

Request = Mapping[str, Any]
_MOST: Final = 100  # tables of a transaction
_PURGE: Final = "external.table.purge"


class Writer:
    """Answers requests that change tables and views, as the current caller."""

    def __init__(self, methods: Methods, reader: Reader, committer: Committer) -> None:
        self._methods, self._reader, self._committer = methods, reader, committer

    def create_table(self, catalog: str, namespace: Sequence[str], request: Request) -> Loaded:
        """Creates a table, or only returns the metadata of a new one if the request stages its creation."""
        name = self._new_name(catalog, namespace, request)
        location = self._location(name, request)
        content = created(request, location, str(uuid4()), _now())
        if request.get("stage-create"):
            self._committer.check_rights(name, location, creates=True)
            return Loaded("", load_result(None, content))
        return _loaded(self._committer.commit(lambda: [Change(name, content)]))

    def commit_table(self, catalog: str, namespace: Sequence[str], table: str, request: Request) -> Loaded:
        """Commits updates of a table, which may be new."""
        change = partial(self._change, catalog, namespace, table, request)
        with _certain():
            return _loaded(self._committer.commit(lambda: [change()]))

    def commit_transaction(self, catalog: str, request: Request) -> None:
        """Commits updates of several tables: all or none."""
        changes = field(request, "table-changes", list)
        if not 0 < len(changes) <= _MOST:
            raise RestError(400, BAD_REQUEST, f"A transaction has 1 to {_MOST} tables, not {len(changes)}")
        each = [partial(self._change, catalog, *_identifier(change, "identifier"), change) for change in changes]
        with _certain():
            self._committer.commit(lambda: [change() for change in each], answers=False)

    def register_table(self, catalog: str, namespace: Sequence[str], request: Request) -> Loaded:
        """Registers a table whose metadata exists. `overwrite`: also if a table of this name exists."""
        name = self._name(catalog, namespace, request)
        location = field(request, "metadata-location", str)
        present: Found | None = None
        existing = self._reader.find_any(name.database, name.name, catalog)
        if existing is not None:
            if not request.get("overwrite") or type_of(existing) != TABLE_TYPE:
                raise _exists(name, existing)
            present = self._reader.find_table(catalog, namespace, name.name)
        self._committer.check_rights(name, location, creates=present is None)
        content = self._reader.metadata(location)
        if not document(content, location).get("location"):
            raise RestError(400, BAD_REQUEST, f"{location} is no metadata of a table: it has no location")
        if present is None:
            return _loaded(self._committer.commit(lambda: [Change(name, content, registers=location)]))
        if present.location == location:
            return loaded(location, content)
        base = b"{}"
        with suppress(RestError):  # a table whose metadata is lost can be registered again
            base = self._reader.metadata(present.location)
        change = Change(name, content, present.row, present.location, base, registers=location)
        return _loaded(self._committer.commit(lambda: [change]))

    def unregister_table(self, catalog: str, namespace: Sequence[str], table: str) -> Loaded:
        """Drops a table without its files, and returns its last metadata."""
        found = self._reader.find_table(catalog, namespace, table)
        answer = self._reader.load_table(catalog, namespace, table)
        note_location(found.location)
        self._drop(found, purge=False)
        return answer

    def drop_table(self, catalog: str, namespace: Sequence[str], table: str, *, purge: bool) -> None:
        """Drops a table. `purge`: with its files, which can be restored for a time as those of other drops."""
        self._drop(self._reader.find_table(catalog, namespace, table), purge=purge)

    def rename_table(self, catalog: str, request: Request) -> None:
        """Renames a table."""
        self._rename(catalog, request, self._reader.find_table)

    def create_view(self, catalog: str, namespace: Sequence[str], request: Request) -> Loaded:
        """Creates a view."""
        name = self._new_name(catalog, namespace, request, "View")
        content = created_view(request, self._location(name, request), str(uuid4()), _now())
        return _loaded(self._committer.commit(lambda: [Change(name, content, is_view=True)]))

    def commit_view(self, catalog: str, namespace: Sequence[str], view: str, request: Request) -> Loaded:
        """Commits updates of a view."""
        requirements, updates = _parts(request)

        def change() -> list[Change]:
            found = self._reader.find_view(catalog, namespace, view)
            self._reader.check_readable(found)
            base = self._reader.metadata(found.location)
            content = committed_view(base, found.location, requirements, updates, _now())
            return [Change(found.name, content, found.row, found.location, base, is_view=True)]

        with _certain():
            return _loaded(self._committer.commit(change))

    def register_view(self, catalog: str, namespace: Sequence[str], request: Request) -> Loaded:
        """Registers a view whose metadata exists."""
        name = self._new_name(catalog, namespace, request, "View")
        location = field(request, "metadata-location", str)
        self._committer.check_rights(name, location, creates=True)
        content = self._reader.metadata(location)
        if not document(content, location).get("view-uuid"):
            raise RestError(400, BAD_REQUEST, f"{location} is no metadata of a view")
        change = Change(name, content, is_view=True, registers=location)
        return _loaded(self._committer.commit(lambda: [change]))

    def drop_view(self, catalog: str, namespace: Sequence[str], view: str) -> None:
        """Drops a view."""
        self._drop(self._reader.find_view(catalog, namespace, view), purge=False)

    def rename_view(self, catalog: str, request: Request) -> None:
        """Renames a view."""
        self._rename(catalog, request, self._reader.find_view)

    def _change(self, catalog: str, namespace: Sequence[str], table: str, request: Request) -> Change:
        """Returns the new state of a table after a commit."""
        requirements, updates = _parts(request)
        if is_create(requirements):
            database = self._reader.database(catalog, namespace)
            name = TableName(catalog, database.name, fold(table))
            if (existing := self._reader.find_any(name.database, name.name, catalog)) is not None:
                if _kind(existing) == "View":
                    raise _exists(name, existing)
                raise commit_failed(f"Requirement failed: table already exists: {name}")
            return Change(name, created_by_updates(updates, str(uuid4()), _now()))
        found = self._reader.find_table(catalog, namespace, table)
        self._reader.check_readable(found)
        base = self._reader.metadata(found.location)
        content = committed(base, found.location, requirements, updates, _now())
        return Change(found.name, content, found.row, found.location, base)

    def _name(self, catalog: str, namespace: Sequence[str], request: Request) -> TableName:
        database = self._reader.database(catalog, namespace)
        given = field(request, "name", str)
        if not given.strip():
            raise RestError(400, BAD_REQUEST, "Invalid name: it is empty")
        return TableName(catalog, database.name, fold(given))

    def _new_name(self, catalog: str, namespace: Sequence[str], request: Request, kind: str = "Table") -> TableName:
        name = self._name(catalog, namespace, request)
        if (existing := self._reader.find_any(name.database, name.name, catalog)) is not None:
            raise _exists(name, existing, kind)
        return name

    def _location(self, name: TableName, request: Request) -> str:
        """Returns the location of a new table. By default, a directory that no other table has had: a dropped table may
        have left its files."""
        if request.get("location") is not None:
            return field(request, "location", str).rstrip("/")
        home = self._reader.database(name.catalog, [name.database]).locationUri
        return f"{home.rstrip('/')}/{name.name}-{uuid4().hex}"

    def _drop(self, found: Found, *, purge: bool) -> None:
        context = EnvironmentContext({_PURGE: "true"}) if purge else None
        name = found.name
        request = DropTableRequest(
            catalogName=name.catalog, dbName=name.database, tableName=name.name, deleteData=purge, envContext=context
        )
        try:
            self._methods("drop_table_req", request)
        except MetastoreError as error:
            raise rest_error(error, found.missing) from error

    def _rename(self, catalog: str, request: Request, find: Callable[[str, Sequence[str], str], Found]) -> None:
        namespace, source = _identifier(request, "source")
        found = find(catalog, namespace, source)
        namespace, target = _identifier(request, "destination")
        database = self._reader.database(catalog, namespace)
        name = TableName(catalog, database.name, fold(target))
        if (existing := self._reader.find_any(name.database, name.name, catalog)) is not None:
            raise _renamed_to_existing(request, existing)
        row = found.row
        row.dbName, row.tableName = name.database, name.name
        old = found.name
        alter = AlterTableRequest(catName=old.catalog, dbName=old.database, tableName=old.name, table=row)
        alter.expectedParameterKey, alter.expectedParameterValue = "metadata_location", found.location
        try:
            self._methods("alter_table_req", alter)
        except InvalidOperationError as error:
            existing = self._reader.find_any(name.database, name.name, catalog)
            raise (rest_error(error) if existing is None else _renamed_to_existing(request, existing)) from error
        except AlreadyExistsError as error:
            raise RestError(409, ALREADY_EXISTS, str(error)) from error
        except MetastoreError as error:
            raise rest_error(error, found.missing) from error


@contextmanager
def _certain() -> Iterator[None]:
    """Reports a database or file system that does not answer as a failed commit: nothing was committed, so the client
    may delete its files and repeat it. An unknown outcome has the status 500.
    """
    try:
        yield
    except RestError as error:
        if error.status == UNAVAILABLE:
            raise commit_failed(str(error)) from error
        raise


def _exists(name: TableName, existing: Table, wanted: str = "Table") -> RestError:
    """Returns the error for a name that is taken. `wanted`: the kind of object that the request creates."""
    kind = _kind(existing)
    return RestError(409, ALREADY_EXISTS, f"{kind}{'' if kind == wanted else ' with same name'} already exists: {name}")


def _renamed_to_existing(request: Request, existing: Table) -> RestError:
    given = [_identifier(request, key) for key in ("source", "destination")]
    source, target = (".".join([*namespace, name]) for namespace, name in given)
    return RestError(409, ALREADY_EXISTS, f"Cannot rename {source} to {target}. {_kind(existing)} already exists")


def _kind(row: Table) -> str:
    return "View" if row.tableType == VIRTUAL_VIEW else "Table"


def _loaded(states: Sequence[Committed]) -> Loaded:
    return loaded(states[0].location, states[0].content)


def _parts(request: Request) -> tuple[list[Any], list[Any]]:
    """Returns the requirements and the updates of a commit."""
    requirements = request.get("requirements")
    return ([] if requirements is None else field(request, "requirements", list)), field(request, "updates", list)


def _identifier(request: Request, key: str) -> tuple[list[str], str]:
    """Returns the namespace and the name of a table that a request names."""
    if not isinstance(request, Mapping):
        raise RestError(400, BAD_REQUEST, f"The request has no {key}")
    identifier = field(request, key, dict)
    namespace, name = field(identifier, "namespace", list), field(identifier, "name", str)
    if not all(isinstance(level, str) for level in namespace):
        raise RestError(400, BAD_REQUEST, f"The namespace of {key} is not a list of texts")
    return namespace, name


def _now() -> int:
    return time.time_ns() // 1_000_000
