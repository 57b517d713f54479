"""Constraints to rows. Table and database names are not stored with them, so that they follow a rename."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

from metastore.encoding.binary import STOP
from metastore.storage.mapping.layout import Fields, all_fields
from thrift_idl.gen.hive_metastore.ttypes import (
    SQLCheckConstraint,
    SQLDefaultConstraint,
    SQLForeignKey,
    SQLNotNullConstraint,
    SQLPrimaryKey,
    SQLUniqueConstraint,
)

Constraint = (
    SQLPrimaryKey
    | SQLForeignKey
    | SQLUniqueConstraint
    | SQLNotNullConstraint
    | SQLDefaultConstraint
    | SQLCheckConstraint
)


class ParentFields(NamedTuple):
    """The fields of a foreign key that name the referenced column."""

    database: str
    table: str
    column: str


@dataclass(frozen=True, slots=True)
class ConstraintKind:
    """A kind of constraint: its code in the database, and the names of the fields that all kinds have."""

    code: str
    struct: type[Any]
    name: str
    database: str = "table_db"
    table: str = "table_name"
    column: str = "column_name"
    parent: ParentFields | None = None


KINDS = {
    kind.struct: kind
    for kind in (
        ConstraintKind("pk", SQLPrimaryKey, "pk_name"),
        ConstraintKind(
            "fk",
            SQLForeignKey,
            "fk_name",
            "fktable_db",
            "fktable_name",
            "fkcolumn_name",
            ParentFields("pktable_db", "pktable_name", "pkcolumn_name"),
        ),
        ConstraintKind("uk", SQLUniqueConstraint, "uk_name"),
        ConstraintKind("nn", SQLNotNullConstraint, "nn_name"),
        ConstraintKind("dc", SQLDefaultConstraint, "dc_name"),
        ConstraintKind("cc", SQLCheckConstraint, "dc_name"),
    )
}


@dataclass(frozen=True, slots=True)
class NamedConstraint:
    """One column of a complete constraint (`services.rules.constraints`). `position`: from 1."""

    constraint: Any
    position: int
    parent_table_id: int | None = None

    @property
    def kind(self) -> ConstraintKind:
        return KINDS[type(self.constraint)]

    @property
    def name(self) -> str:
        return str(getattr(self.constraint, self.kind.name))

    @property
    def column(self) -> str:
        """Empty for a check constraint of the whole row."""
        return getattr(self.constraint, self.kind.column) or ""


def constraint_row(named: NamedConstraint) -> dict[str, Any]:
    """Returns the columns of `table_constraints` that follow from the struct."""
    kind = named.kind
    return {
        "kind": kind.code,
        "name": named.name,
        "position": named.position,
        "column_name": named.column,
        "parent_table_id": named.parent_table_id,
        "parent_column_name": getattr(named.constraint, kind.parent.column) if kind.parent else None,
        "encoded": _own_fields(named.constraint, kind),
    }


def constraint_tail(
    kind: ConstraintKind, catalog: str, child: tuple[str, str], parent: tuple[str | None, str | None]
) -> bytes:
    """Returns the last fields of an encoded constraint: the present names of its tables.

    `child` and `parent`: database and table.
    """
    names: dict[str, str | None] = {"catName": catalog, kind.database: child[0], kind.table: child[1]}
    if kind.parent:
        names |= {kind.parent.database: parent[0], kind.parent.table: parent[1]}
    return all_fields(kind.struct(**names)) + STOP


def _own_fields(constraint: Any, kind: ConstraintKind) -> Fields:
    own = copy.copy(constraint)
    names = ["catName", kind.database, kind.table, *(kind.parent[:2] if kind.parent else ())]
    for name in names:
        setattr(own, name, None)
    return all_fields(own)
