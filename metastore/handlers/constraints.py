"""Constraints on the wire."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metastore.domain.names import fold
from metastore.encoding.binary import EncodedList
from metastore.errors import InvalidObjectError, NotFoundError, UndeclaredError
from metastore.handlers.arguments import database_name, said_as, table_name
from metastore.services.entry.constraints import ConstraintService
from thrift_idl.gen.hive_metastore.ttypes import (
    AddCheckConstraintRequest,
    AddDefaultConstraintRequest,
    AddForeignKeyRequest,
    AddNotNullConstraintRequest,
    AddPrimaryKeyRequest,
    AddUniqueConstraintRequest,
    AllTableConstraintsRequest,
    AllTableConstraintsResponse,
    CheckConstraintsRequest,
    CheckConstraintsResponse,
    DefaultConstraintsRequest,
    DefaultConstraintsResponse,
    DropConstraintRequest,
    ForeignKeysRequest,
    ForeignKeysResponse,
    NotNullConstraintsRequest,
    NotNullConstraintsResponse,
    PrimaryKeysRequest,
    PrimaryKeysResponse,
    SQLAllTableConstraints,
    SQLCheckConstraint,
    SQLDefaultConstraint,
    SQLNotNullConstraint,
    SQLPrimaryKey,
    SQLUniqueConstraint,
    UniqueConstraintsRequest,
    UniqueConstraintsResponse,
)


class ConstraintHandlers:
    """`*_primary_key*`, `*_foreign_key*` and `*_constraint*`."""

    def __init__(self, constraints: ConstraintService) -> None:
        self._constraints = constraints

    def add_primary_key(self, request: AddPrimaryKeyRequest) -> None:
        self._add(request.primaryKeyCols)

    def add_foreign_key(self, request: AddForeignKeyRequest) -> None:
        self._add(request.foreignKeyCols)

    def add_unique_constraint(self, request: AddUniqueConstraintRequest) -> None:
        self._add(request.uniqueConstraintCols)

    def add_not_null_constraint(self, request: AddNotNullConstraintRequest) -> None:
        self._add(request.notNullConstraintCols)

    def add_default_constraint(self, request: AddDefaultConstraintRequest) -> None:
        self._add(request.defaultConstraintCols)

    def add_check_constraint(self, request: AddCheckConstraintRequest) -> None:
        self._add(request.checkConstraintCols)

    def drop_constraint(self, request: DropConstraintRequest) -> None:
        name = table_name(request.dbname, request.tablename, request.catName)
        with _as_hive():
            self._constraints.drop(name, fold(request.constraintname))

    def get_primary_keys(self, request: PrimaryKeysRequest) -> PrimaryKeysResponse:
        return PrimaryKeysResponse(self._of(request, SQLPrimaryKey))

    def get_foreign_keys(self, request: ForeignKeysRequest) -> ForeignKeysResponse:
        catalog = database_name(request.foreign_db_name or request.parent_db_name, request.catName).catalog
        parent = _pattern(request.parent_db_name, request.parent_tbl_name)
        child = _pattern(request.foreign_db_name, request.foreign_tbl_name)
        return ForeignKeysResponse(self._constraints.foreign_keys(catalog, parent, child))

    def get_unique_constraints(self, request: UniqueConstraintsRequest) -> UniqueConstraintsResponse:
        return UniqueConstraintsResponse(self._of(request, SQLUniqueConstraint))

    def get_not_null_constraints(self, request: NotNullConstraintsRequest) -> NotNullConstraintsResponse:
        return NotNullConstraintsResponse(self._of(request, SQLNotNullConstraint))

    def get_default_constraints(self, request: DefaultConstraintsRequest) -> DefaultConstraintsResponse:
        return DefaultConstraintsResponse(self._of(request, SQLDefaultConstraint))

    def get_check_constraints(self, request: CheckConstraintsRequest) -> CheckConstraintsResponse:
        return CheckConstraintsResponse(self._of(request, SQLCheckConstraint))

    def get_all_table_constraints(self, request: AllTableConstraintsRequest) -> AllTableConstraintsResponse:
        name = table_name(request.dbName, request.tblName, request.catName)
        lists = [found.decode() for found in self._constraints.select_all(name)]
        return AllTableConstraintsResponse(SQLAllTableConstraints(*lists))

    def _add(self, constraints: list[Any] | None) -> None:
        with _as_hive():
            self._constraints.add(constraints or [])

    def _of(self, request: Any, struct: type[Any]) -> EncodedList[Any]:
        name = table_name(request.db_name, request.tbl_name, request.catName)
        return self._constraints.select(name, struct)[0]


def _as_hive() -> AbstractContextManager[None]:
    """Hive's handler throws InvalidObjectException, which the methods that change constraints do not declare."""
    return said_as(UndeclaredError, InvalidObjectError, NotFoundError)


def _pattern(database: str | None, table: str | None) -> tuple[str | None, str | None]:
    """Returns a database and a table, folded; None where none was sent."""
    return database_name(database).name if database else None, fold(table) if table else None
