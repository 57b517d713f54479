"""Handlers of constraints."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metastore.domain.names import fold
from metastore.domain.privileges import Right
from metastore.encoding.binary import EncodedList
from metastore.errors import InvalidObjectError, NotFoundError, UndeclaredError
from metastore.handlers.arguments import database_name, raised_as, table_name
from metastore.operations.answer_filters import all_constraints, foreign_keys
from metastore.operations.fields import TableFields
from metastore.operations.operation import any_of, change, from_fields, operation, visible
from metastore.operations.requirements.tables import new_constraints, new_foreign_keys
from metastore.services.constraints import ConstraintService
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

_REQUESTED_TABLE = TableFields("request.db_name", "request.tbl_name", "request.catName")


class ConstraintHandlers:
    """`*_primary_key*`, `*_foreign_key*` and `*_constraint*`."""

    def __init__(self, constraints: ConstraintService) -> None:
        self._constraints = constraints

    @change(
        TableFields("req.primaryKeyCols.0.table_db", "req.primaryKeyCols.0.table_name", "req.primaryKeyCols.0.catName"),
        from_fields(new_constraints, "req.primaryKeyCols"),
    )
    def add_primary_key(self, request: AddPrimaryKeyRequest) -> None:
        self._add(request.primaryKeyCols)

    @change(
        TableFields(
            "req.foreignKeyCols.0.fktable_db", "req.foreignKeyCols.0.fktable_name", "req.foreignKeyCols.0.catName"
        ),
        from_fields(new_foreign_keys, "req.foreignKeyCols"),
    )
    def add_foreign_key(self, request: AddForeignKeyRequest) -> None:
        self._add(request.foreignKeyCols)

    @change(
        TableFields(
            "req.uniqueConstraintCols.0.table_db",
            "req.uniqueConstraintCols.0.table_name",
            "req.uniqueConstraintCols.0.catName",
        ),
        from_fields(new_constraints, "req.uniqueConstraintCols"),
    )
    def add_unique_constraint(self, request: AddUniqueConstraintRequest) -> None:
        self._add(request.uniqueConstraintCols)

    @change(
        TableFields(
            "req.notNullConstraintCols.0.table_db",
            "req.notNullConstraintCols.0.table_name",
            "req.notNullConstraintCols.0.catName",
        ),
        from_fields(new_constraints, "req.notNullConstraintCols"),
    )
    def add_not_null_constraint(self, request: AddNotNullConstraintRequest) -> None:
        self._add(request.notNullConstraintCols)

    @change(
        TableFields(
            "req.defaultConstraintCols.0.table_db",
            "req.defaultConstraintCols.0.table_name",
            "req.defaultConstraintCols.0.catName",
        ),
        from_fields(new_constraints, "req.defaultConstraintCols"),
    )
    def add_default_constraint(self, request: AddDefaultConstraintRequest) -> None:
        self._add(request.defaultConstraintCols)

    @change(
        TableFields(
            "req.checkConstraintCols.0.table_db",
            "req.checkConstraintCols.0.table_name",
            "req.checkConstraintCols.0.catName",
        ),
        from_fields(new_constraints, "req.checkConstraintCols"),
    )
    def add_check_constraint(self, request: AddCheckConstraintRequest) -> None:
        self._add(request.checkConstraintCols)

    @change(TableFields("req.dbname", "req.tablename", "req.catName"), any_of(Right.ALTER))
    def drop_constraint(self, request: DropConstraintRequest) -> None:
        name = table_name(request.dbname, request.tablename, request.catName)
        with _as_hive():
            self._constraints.drop(name, fold(request.constraintname))

    @operation(_REQUESTED_TABLE, visible)
    def get_primary_keys(self, request: PrimaryKeysRequest) -> PrimaryKeysResponse:
        return PrimaryKeysResponse(self._of(request, SQLPrimaryKey))

    @operation(
        TableFields("request.foreign_db_name", "request.foreign_tbl_name", "request.catName"),
        answer_filter=foreign_keys,
    )
    def get_foreign_keys(self, request: ForeignKeysRequest) -> ForeignKeysResponse:
        catalog = database_name(request.foreign_db_name or request.parent_db_name, request.catName).catalog
        parent = _pattern(request.parent_db_name, request.parent_tbl_name)
        child = _pattern(request.foreign_db_name, request.foreign_tbl_name)
        return ForeignKeysResponse(self._constraints.foreign_keys(catalog, parent, child))

    @operation(_REQUESTED_TABLE, visible)
    def get_unique_constraints(self, request: UniqueConstraintsRequest) -> UniqueConstraintsResponse:
        return UniqueConstraintsResponse(self._of(request, SQLUniqueConstraint))

    @operation(_REQUESTED_TABLE, visible)
    def get_not_null_constraints(self, request: NotNullConstraintsRequest) -> NotNullConstraintsResponse:
        return NotNullConstraintsResponse(self._of(request, SQLNotNullConstraint))

    @operation(_REQUESTED_TABLE, visible)
    def get_default_constraints(self, request: DefaultConstraintsRequest) -> DefaultConstraintsResponse:
        return DefaultConstraintsResponse(self._of(request, SQLDefaultConstraint))

    @operation(_REQUESTED_TABLE, visible)
    def get_check_constraints(self, request: CheckConstraintsRequest) -> CheckConstraintsResponse:
        return CheckConstraintsResponse(self._of(request, SQLCheckConstraint))

    @operation(
        TableFields("request.dbName", "request.tblName", "request.catName"), visible, answer_filter=all_constraints
    )
    def get_all_table_constraints(self, request: AllTableConstraintsRequest) -> AllTableConstraintsResponse:
        name = table_name(request.dbName, request.tblName, request.catName)
        lists = [constraints.decode() for constraints in self._constraints.select_all(name)]
        return AllTableConstraintsResponse(SQLAllTableConstraints(*lists))

    def _add(self, constraints: list[Any] | None) -> None:
        with _as_hive():
            self._constraints.add(constraints or [])

    def _of(self, request: Any, struct: type[Any]) -> EncodedList[Any]:
        name = table_name(request.db_name, request.tbl_name, request.catName)
        return self._constraints.select(name, struct)[0]


def _as_hive() -> AbstractContextManager[None]:
    """Reports errors as Hive does: it throws InvalidObjectException, which these methods do not declare."""
    return raised_as(UndeclaredError, InvalidObjectError, NotFoundError)


def _pattern(database: str | None, table: str | None) -> tuple[str | None, str | None]:
    """Returns the folded names of a database and a table; None for a name that is unset."""
    return database_name(database).name if database else None, fold(table) if table else None
