"""Names, completes and checks constraints before they are stored (Hive's ObjectStore)."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from metastore.domain.names import DEFAULT_CATALOG, TableName, fold, fold_column, split_database, table_name
from metastore.errors import InvalidInputError, InvalidObjectError, NotFoundError
from metastore.services.rules.events import constraint_events
from metastore.services.rules.foreign_keys import check_referenced
from metastore.services.rules.lookup import required
from metastore.storage.mapping.constraints import KINDS, Constraint, NamedConstraint
from metastore.storage.references import StoredTable
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import SQLCheckConstraint, SQLPrimaryKey, Table

_MAX_NAME = 400  # as Hive's schema
_PRIMARY = KINDS[SQLPrimaryKey].code
_FLAGS = ("enable_cstr", "validate_cstr", "rely_cstr")
_RULES = ("update_rule", "delete_rule")


def owner_of(constraint: Constraint) -> TableName:
    """Returns the name of the constraint's table. Raises InvalidInputError."""
    if constraint is None:
        raise InvalidInputError("A constraint must not be null")
    kind = KINDS[type(constraint)]
    catalog, database = split_database(getattr(constraint, kind.database))
    table = fold(getattr(constraint, kind.table))
    return TableName(catalog or fold(constraint.catName) or DEFAULT_CATALOG, database or "", table)


def add_constraints(work: UnitOfWork, table_id: int, table: Table, constraints: Sequence[Constraint]) -> None:
    """Stores constraints of a locked table and their events.

    Raises InvalidObjectError if a name is taken or a column is missing, NotFoundError if the table that a foreign key
    refers to is missing, InvalidInputError for a second primary key, or a foreign key to columns that are no key.
    """
    if not constraints:
        return
    names = {parent for constraint in constraints if (parent := _parent_of(constraint, table.catName))}
    parents = {stored.ref.name: stored for stored in work.tables.find_named(sorted(names))}
    existing = work.constraints.kinds(table_id)
    if _PRIMARY in existing.values() and any(isinstance(constraint, SQLPrimaryKey) for constraint in constraints):
        raise InvalidInputError(f"Primary key already exists for: {table.catName}.{table.dbName}.{table.tableName}")
    named = _named(constraints, set(existing))
    own = _columns(table)
    for constraint in named:
        _check_column(constraint, own, f"{table.dbName}.{table.tableName}")
        _complete(constraint)
    resolved = [_with_parent(constraint, table.catName, parents) for constraint in named]
    check_referenced(work, (table_id, table), resolved, {stored.ref.id: stored.encoded for stored in parents.values()})
    work.constraints.insert(table_id, resolved)
    work.record(*constraint_events(table, named))


def _named(constraints: Sequence[Constraint], taken: set[str]) -> list[NamedConstraint]:
    """Gives each constraint a name. As Hive's clients send them, columns without a name form one constraint while their
    `key_seq` increases.
    """
    positions: Counter[tuple[type[Any], str]] = Counter()
    named: list[NamedConstraint] = []
    generated = ""
    for constraint in constraints:
        kind = KINDS[type(constraint)]
        name = fold(getattr(constraint, kind.name))
        _check_name(name, taken)
        if name:
            generated = ""
        else:
            if not generated.startswith(kind.code) or (getattr(constraint, "key_seq", None) or 1) <= 1:
                generated = f"{kind.code}_{uuid.uuid4().hex}"
            name = generated
        setattr(constraint, kind.name, name)
        positions[type(constraint), name] += 1
        named.append(NamedConstraint(constraint, positions[type(constraint), name]))
    return named


def _check_name(name: str, taken: set[str]) -> None:
    if len(name) > _MAX_NAME:
        raise InvalidObjectError(
            f"Constraint name {name[:40]}… is too long: it has {len(name)} characters, at most {_MAX_NAME} are stored"
        )
    if name in taken:
        raise InvalidObjectError(f"Constraint name already exists: {name}")


def _check_column(named: NamedConstraint, columns: set[str], table: str) -> None:
    column = fold_column(named.column)
    if not column and isinstance(named.constraint, SQLCheckConstraint):
        return
    if column not in columns:
        raise InvalidObjectError(f"Constraint {named.name}: column '{column}' not found in table {table}")
    setattr(named.constraint, named.kind.column, column)


def _complete(named: NamedConstraint) -> None:
    for flag in _FLAGS:
        setattr(named.constraint, flag, bool(getattr(named.constraint, flag)))
    if hasattr(named.constraint, "key_seq"):
        named.constraint.key_seq = named.constraint.key_seq or named.position
    for rule in _RULES if named.kind.parent else ():
        setattr(named.constraint, rule, getattr(named.constraint, rule) or 0)


def _with_parent(named: NamedConstraint, catalog: str, parents: Mapping[TableName, StoredTable]) -> NamedConstraint:
    """Resolves the table that a foreign key refers to. Other constraints are returned unchanged."""
    name = _parent_of(named.constraint, catalog)
    if name is None or named.kind.parent is None:
        return named
    found = parents.get(name) if name.catalog == catalog else None
    parent = required(found, NotFoundError(f"Parent table not found: {name}"))
    field = named.kind.parent.column
    column = fold_column(getattr(named.constraint, field))
    if column not in _columns(parent.encoded.decode()):
        raise InvalidObjectError(f"Constraint {named.name}: parent column '{column}' not found in {name}")
    setattr(named.constraint, field, column)
    return NamedConstraint(named.constraint, named.position, parent.ref.id)


def _parent_of(constraint: Constraint, catalog: str) -> TableName | None:
    """Returns the table that a foreign key refers to; None for other constraints. Without a prefix, the name is in the
    catalog of the key's own table (`operations.requirements.tables` checks the same name)."""
    parent = KINDS[type(constraint)].parent
    if parent is None:
        return None
    return table_name(getattr(constraint, parent.database), getattr(constraint, parent.table), catalog)


def _columns(table: Table) -> set[str]:
    return {column.name for column in (*table.sd.cols, *table.partitionKeys)}
