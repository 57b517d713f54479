"""Checks that foreign keys refer to a primary or unique key (Hive's ObjectStore.addForeignKeys)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from metastore.domain.names import fold, fold_column
from metastore.encoding.binary import EncodedStruct
from metastore.errors import InvalidInputError
from metastore.storage.mapping.constraints import NamedConstraint
from metastore.storage.repositories.constraints import of_table
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import SQLPrimaryKey, SQLUniqueConstraint, Table

_Columns = tuple[tuple[str, str], ...]
"""Columns of a key: (name, type)."""


def check_referenced(
    work: UnitOfWork,
    owner: tuple[int, Table],
    new: Sequence[NamedConstraint],
    parents: Mapping[int, EncodedStruct[Table]],
) -> None:
    """Checks the foreign keys among a table's new constraints. Raises InvalidInputError.

    `owner`: the table's id and struct. `parents`: the referenced tables, by id.
    """
    foreign: dict[str, list[NamedConstraint]] = defaultdict(list)
    for constraint in new:
        if constraint.parent_table_id is not None:
            foreign[constraint.name].append(constraint)
    table_id, child = owner
    types = _types(child)
    for columns in foreign.values():
        parent = parents[columns[0].parent_table_id or 0].decode()
        own = columns[0].parent_table_id == table_id
        key = tuple((column.constraint.pkcolumn_name, types[column.column]) for column in columns)
        _check(key, _keys(work, parent, new if own else ()), parent)
        if own and key == tuple((column.column, types[column.column]) for column in columns):
            raise InvalidInputError(f"Cannot be both foreign key and primary/unique key on same table: {_text(key)}")


def _check(referenced: _Columns, keys: set[_Columns], parent: Table) -> None:
    if not keys:
        raise InvalidInputError(
            "Trying to define foreign key but there are no primary keys or unique keys for referenced table "
            f"{parent.dbName}.{parent.tableName}"
        )
    if referenced not in keys:
        raise InvalidInputError(
            f"Foreign key references {_text(referenced)} but no corresponding primary key or unique key exists. "
            f"Possible keys: {', '.join(sorted(map(_text, keys)))}"
        )


def _keys(work: UnitOfWork, parent: Table, new: Sequence[NamedConstraint]) -> set[_Columns]:
    """Returns the primary and unique keys of a table, stored and new."""
    own = of_table(parent.dbName, parent.tableName)
    stored = work.constraints.select(parent.catName, own, SQLPrimaryKey, SQLUniqueConstraint)
    added = [named.constraint for named in new if isinstance(named.constraint, SQLPrimaryKey | SQLUniqueConstraint)]
    types, columns = _types(parent), defaultdict[str, list[str]](list)
    for key in [*(constraint for encoded in stored for constraint in encoded.decode()), *added]:
        name = f"pk {key.pk_name}" if isinstance(key, SQLPrimaryKey) else f"uk {key.uk_name}"
        columns[name].append(fold_column(key.column_name))
    return {tuple((name, types[name]) for name in names) for names in columns.values()}


def _types(table: Table) -> dict[str, str]:
    return {column.name: fold(column.type) for column in [*table.sd.cols, *table.partitionKeys]}


def _text(columns: _Columns) -> str:
    return "".join(f"{name}:{kind};" for name, kind in columns)
