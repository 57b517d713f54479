"""Expected columns of databases, tables, partitions and the objects that belong to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import ColumnElement, ScalarSelect, func, literal_column, select
from sqlalchemy.dialects.postgresql import aggregate_order_by

from metastore.domain.keys import KeyKind, kind_of
from metastore.domain.partition_names import partition_name
from metastore.encoding.binary import decode_strictly
from metastore.storage.mapping.constraints import KINDS, NamedConstraint, constraint_row
from metastore.storage.mapping.databases import database_row
from metastore.storage.mapping.layout import closed, closed_fields
from metastore.storage.mapping.partitions import partition_columns
from metastore.storage.mapping.tables import table_row
from metastore.storage.mapping.whole_objects import function_row, index_row, statistics_row, type_row
from metastore.storage.schema.catalog import (
    databases,
    functions,
    skewed_locations,
    table_constraints,
    table_indexes,
    tables,
    types,
)
from metastore.storage.schema.descriptors import storage_descriptors
from metastore.storage.schema.partitions import partitions
from metastore.storage.schema.statistics import column_statistics
from metastore.storage.verification.differences import Kind
from thrift_idl.gen.hive_metastore.ttypes import (
    ColumnStatisticsObj,
    Database,
    Function,
    Index,
    Partition,
    PrincipalType,
    Type,
)
from thrift_idl.gen.hive_metastore.ttypes import Table as HiveTable

_OWNER: Final = (databases.c.catalog, databases.c.name.label("database"))
_OF_TABLE: Final = (*_OWNER, tables.c.name.label("table"))
_TABLES: Final = tables.join(databases, databases.c.id == tables.c.database_id)
_IN_ORDER: Final[ColumnElement[Any]] = literal_column('skewed_locations.value COLLATE "C"')  # as Python compares texts
_CONSTRAINTS: Final = {kind.code: kind for kind in KINDS.values()}


def _skewed_locations(*conditions: ColumnElement[bool]) -> ScalarSelect[Any]:
    """Returns a subquery for pairs of skewed value and location, ordered by the values' bytes."""
    value, location = skewed_locations.c.value, skewed_locations.c.location
    pairs = func.jsonb_agg(aggregate_order_by(func.jsonb_build_array(value, location), _IN_ORDER))
    return select(pairs).where(*conditions).scalar_subquery()


def _pairs(locations: Mapping[tuple[str, ...], str]) -> list[list[Any]] | None:
    """Returns the same pairs from a struct's map; None if it is empty."""
    return [[list(value), locations[value]] for value in sorted(locations)] or None


def _without_bytes(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "encoded"}


def _database(row: Any) -> dict[str, Any]:
    database = decode_strictly(Database, closed_fields(row.encoded))
    return _without_bytes(database_row(database)) | {"catalog": database.catalogName}


def _table(row: Any) -> dict[str, Any]:
    table = decode_strictly(HiveTable, closed(row.encoded))
    # Servers that did not know this column left it empty; the encoded owner is a user then.
    of_before = row.owner_type is None and table.ownerType == PrincipalType.USER
    return {
        **_without_bytes(table_row(table)),
        **({"owner_type": None} if of_before else {}),
        "catalog": table.catName,
        "database": table.dbName,
        "skewed_locations": _pairs(table.sd.skewedInfo.skewedColValueLocationMaps),
    }


@lru_cache(maxsize=1_000)
def _kinds(types: tuple[str, ...]) -> list[KeyKind]:
    return [kind_of(text) for text in types]


def _partition(row: Any) -> dict[str, Any]:
    partition = decode_strictly(Partition, closed(row.encoded))
    kinds = _kinds(tuple(key["type"] for key in row.partition_keys))
    return {
        **partition_columns(kinds, partition)._asdict(),
        "name": partition_name([key["name"] for key in row.partition_keys], partition.values),
        "skewed_locations": _pairs(partition.sd.skewedInfo.skewedColValueLocationMaps),
        "shape": row.descriptor_id,
    }


def _function(row: Any) -> dict[str, Any]:
    function = decode_strictly(Function, closed_fields(row.encoded))
    return _without_bytes(function_row(function)) | {"catalog": function.catName, "database": function.dbName}


def _part(row: Any) -> str:
    """Returns the title of a partition, or of the table itself."""
    return f"{row.table}/{row.partition}" if row.partition else str(row.table)


def _constraint(row: Any) -> dict[str, Any]:
    if row.kind not in _CONSTRAINTS:
        raise ValueError(f"unknown kind of constraint: {row.kind}")
    constraint = decode_strictly(_CONSTRAINTS[row.kind].struct, closed_fields(row.encoded))
    return _without_bytes(constraint_row(NamedConstraint(constraint, row.position, row.parent_table_id)))


def _decoded(struct: type[Any], to_row: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    """Returns the function that decodes a row's bytes, and converts the struct to columns."""
    return lambda row: _without_bytes(to_row(decode_strictly(struct, closed_fields(row.encoded))))


OBJECTS: Final = (
    Kind("databases", select(databases), lambda row: f"{row.catalog}.{row.name}", _database),
    Kind(
        "tables",
        select(
            tables,
            *_OWNER,
            _skewed_locations(
                skewed_locations.c.table_id == tables.c.id, skewed_locations.c.partition_id.is_(None)
            ).label("skewed_locations"),
        ).select_from(_TABLES),
        lambda row: f"{row.catalog}.{row.database}.{row.name}",
        _table,
    ),
    Kind(
        "partitions",
        select(
            partitions,
            *_OF_TABLE,
            tables.c.partition_keys,
            storage_descriptors.c.id.label("shape"),
            _skewed_locations(skewed_locations.c.partition_id == partitions.c.id).label("skewed_locations"),
        ).select_from(
            _TABLES.join(partitions, partitions.c.table_id == tables.c.id).outerjoin(
                storage_descriptors, storage_descriptors.c.id == partitions.c.descriptor_id
            )
        ),
        lambda row: f"{row.catalog}.{row.database}.{row.table}/{row.name}",
        _partition,
    ),
    Kind(
        "column_statistics",
        select(column_statistics, *_OF_TABLE, partitions.c.name.label("partition")).select_from(
            _TABLES.join(column_statistics, column_statistics.c.table_id == tables.c.id).outerjoin(
                partitions, partitions.c.id == column_statistics.c.partition_id
            )
        ),
        lambda row: f"{row.catalog}.{row.database}.{_part(row)} {row.column_name} ({row.engine})",
        _decoded(ColumnStatisticsObj, statistics_row),
    ),
    Kind(
        "table_constraints",
        select(table_constraints, *_OF_TABLE).select_from(
            _TABLES.join(table_constraints, table_constraints.c.table_id == tables.c.id)
        ),
        lambda row: f"{row.catalog}.{row.database}.{row.table} {row.name} ({row.position})",
        _constraint,
    ),
    Kind(
        "table_indexes",
        select(table_indexes, *_OF_TABLE).select_from(
            _TABLES.join(table_indexes, table_indexes.c.table_id == tables.c.id)
        ),
        lambda row: f"{row.catalog}.{row.database}.{row.table} {row.name}",
        _decoded(Index, index_row),
    ),
    Kind(
        "functions",
        select(functions, *_OWNER).select_from(functions.join(databases, databases.c.id == functions.c.database_id)),
        lambda row: f"{row.catalog}.{row.database}.{row.name}",
        _function,
    ),
    Kind("types", select(types), lambda row: row.name, _decoded(Type, type_row)),
)
