"""Removes the columns that a caller may not see from tables, partitions, statistics, constraints and other structs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any, Final, TypeAlias

from metastore.domain.column_scope import ColumnScope
from metastore.domain.file_formats import FORMAT_PARAMETERS, NO_FILES, finds_by_position
from metastore.domain.names import DEFAULT_CATALOG, TableName, fold_column, table_name
from metastore.encoding.binary import STOP, EncodedList, EncodedMap, EncodedStruct, encode_fields
from thrift_idl.gen.hive_metastore.ttypes import (
    ColumnStatisticsObj,
    FieldSchema,
    Order,
    SkewedInfo,
    SQLForeignKey,
    StorageDescriptor,
    Table,
)

ScopeOf: TypeAlias = Callable[[TableName], ColumnScope | None]
_SCHEMA: Final = "spark.sql.sources.schema"
_PROVIDER: Final = "spark.sql.sources.provider"
_PATH: Final = "path"  # a location of the table, which Spark needs; locations are not hidden
_SKEW: Final = "skew"  # first letters of the parameters of spark_client about skew
_NOT_BUCKETED: Final = -1  # numBuckets, as Hive writes it
_VIEW: Final = "VIRTUAL_VIEW"
_BUCKETS: Final = ("numBucket", "bucketCol", "numSort", "sortCol")
_TABLE_FIELDS: Final = (("dbName", "tableName"), ("table_db", "table_name"), ("dbName", "origTableName"))
_LONGEST_COUNT: Final = 6
_EXPRESSIONS: Final = ("check_expression", "default_value")
_TEXTS: Final = ("viewOriginalText", "viewExpandedText", "comments")


def decoded(value: Any) -> Any:
    """Returns an answer as structs. Encoded parts are decoded, at any depth."""
    if isinstance(value, EncodedStruct | EncodedList | EncodedMap):
        return value.decode()
    if isinstance(value, list):
        return [decoded(item) for item in value]
    for field in _fields(value):
        inner = getattr(value, field, None)
        if not isinstance(inner, str | int | float | None):
            setattr(value, field, decoded(inner))
    return value


def named_tables(value: Any) -> Iterator[TableName]:
    """Yields the tables that the structs of a decoded answer name."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from named_tables(item)
    for field in _fields(value):
        yield from named_tables(getattr(value, field, None))
    yield from _tables_of(value)


def table_without_columns(encoded: EncodedStruct[Table], scope: ColumnScope) -> EncodedStruct[Table]:
    """Returns a table without its hidden columns."""
    table = encoded.decode()
    remove_columns(table, lambda _: scope, None)
    return EncodedStruct(Table, encode_fields(table) + STOP)


def table_scope(scope: ColumnScope, table: Table) -> ColumnScope:
    """Returns a scope with the columns of the table."""
    keys, provider = [key.name for key in table.partitionKeys or ()], _provider(table)
    by_position = _by_position(table.sd, provider)
    scope = scope._replace(provider=provider).of(keys, spark_columns(table.parameters), by_position=by_position)
    return scope if table.sd is None else descriptor_scope(scope, table.sd)


def finds_columns_by_position(table: Table, sd: StorageDescriptor) -> bool:
    """Returns whether engines find the columns of a descriptor of the table by their position in the files."""
    return _by_position(sd, _provider(table))


def spark_columns(parameters: dict[str, str] | None) -> list[str]:
    """Returns the columns of the schema that Spark has written into a table's parameters, with partition columns, in
    lower case; none without a valid one."""
    return [fold_column(field["name"]) for field in _spark_fields(parameters or {})]


def _provider(table: Table) -> str | None:
    return NO_FILES if table.tableType == _VIEW else (table.parameters or {}).get(_PROVIDER)


def descriptor_scope(scope: ColumnScope, sd: StorageDescriptor) -> ColumnScope:
    """Returns the scope of a table for one of its descriptors: partitions have columns and formats of their own."""
    names = [column.name for column in sd.cols or ()]
    return scope.of((), names, by_position=_by_position(sd, scope.provider))


def _by_position(sd: StorageDescriptor | None, provider: str | None) -> bool:
    return finds_by_position(sd.serdeInfo.serializationLib if sd and sd.serdeInfo else None, provider)


def remove_columns(value: Any, scope_of: ScopeOf, scope: ColumnScope | None) -> Any:
    """Returns a decoded answer without hidden columns. Structs are changed in place.

    `scope_of`: the visible columns of a table; None: all of them. `scope`: of the table that the call is about, for
    structs that name none.
    """
    if isinstance(value, list):
        kept = [item for item in value if not _is_hidden(item, scope_of, scope)]
        return [remove_columns(item, scope_of, scope) for item in kept]
    if isinstance(value, dict):
        return {key: remove_columns(inner, scope_of, scope) for key, inner in value.items()}
    for name in _tables_of(value):
        scope = scope_of(name)
    if isinstance(value, Table) and scope is not None:
        scope = table_scope(scope, value)
        if _has_hidden_skew(value.sd, scope):  # parameters such as skewed.directories reveal that the table is skewed
            value.parameters = {
                name: text for name, text in (value.parameters or {}).items() if not name.startswith(_SKEW)
            }
    if isinstance(value, StorageDescriptor) and scope is not None:
        scope = descriptor_scope(scope, value)
    if scope is not None:
        _remove_from_fields(value, scope)
    for field in _fields(value):
        inner = getattr(value, field, None)
        if isinstance(inner, list | dict) or hasattr(inner, "thrift_spec"):
            setattr(value, field, remove_columns(inner, scope_of, scope))
    return value


def _fields(value: Any) -> tuple[str, ...]:
    return value.__slots__ if hasattr(value, "thrift_spec") else ()


def _tables_of(struct: Any) -> Iterator[TableName]:
    """Yields the table that a struct names as its own; for a foreign key, both tables."""
    catalog = getattr(struct, "catName", None) or DEFAULT_CATALOG
    if isinstance(struct, SQLForeignKey):
        yield table_name(struct.pktable_db, struct.pktable_name, catalog)
        yield table_name(struct.fktable_db, struct.fktable_name, catalog)
        return
    for database, table in _TABLE_FIELDS:
        if getattr(struct, database, None) and getattr(struct, table, None):
            yield table_name(getattr(struct, database), getattr(struct, table), catalog)
            return


def _is_hidden(item: Any, scope_of: ScopeOf, scope: ColumnScope | None) -> bool:
    """Returns whether an item of a list describes a hidden column."""
    if isinstance(item, SQLForeignKey):
        columns = (item.pkcolumn_name, item.fkcolumn_name)
        ends = zip(map(scope_of, _tables_of(item)), columns, strict=True)
        return any(end is not None and end.hides(column) for end, column in ends)
    match item:
        case FieldSchema(name=column) | ColumnStatisticsObj(colName=column) | Order(col=column):
            pass
        case object(column_name=column):  # the other constraints
            scope = next(map(scope_of, _tables_of(item)), scope)
            if scope is not None and any(scope.is_mentioned(getattr(item, name, None)) for name in _EXPRESSIONS):
                return True
        case _:
            return False
    return scope is not None and scope.hides(column)


def _remove_from_fields(struct: Any, scope: ColumnScope) -> None:
    """Removes values that reveal hidden columns from the fields of one struct."""
    match struct:
        case StorageDescriptor():
            # Without one of the columns, engines would compute other bucket numbers, or expect another order.
            if any(map(scope.hides, struct.bucketCols or ())):
                struct.bucketCols, struct.numBuckets = [], _NOT_BUCKETED
            struct.sortCols = list(takewhile(lambda order: not scope.hides(order.col), struct.sortCols or ()))
            if _has_hidden_skew(struct, scope):
                struct.skewedInfo, struct.storedAsSubDirectories = SkewedInfo([], [], {}), False
    if getattr(struct, "parameters", None):
        struct.parameters = _parameters(struct.parameters, scope)
    for field in _TEXTS:
        if scope.is_mentioned(getattr(struct, field, None)):
            setattr(struct, field, None)


def _has_hidden_skew(sd: StorageDescriptor | None, scope: ColumnScope) -> bool:
    """Returns whether rows are skewed by a hidden column."""
    return bool(sd and sd.skewedInfo and any(map(scope.hides, sd.skewedInfo.skewedColNames or ())))


def _parameters(parameters: dict[str, str], scope: ColumnScope) -> dict[str, str]:
    """Returns the parameters that mention no hidden column, and Spark's schema without hidden columns."""
    fields = _spark_fields(parameters)
    schema = {name: text for name, text in parameters.items() if name.startswith(_SCHEMA)}
    others = {name: text for name, text in parameters.items() if name not in schema}
    kept = {
        name: text
        for name, text in others.items()
        if name == _PATH or (_names_no_column(name, scope) and not scope.is_mentioned(text))
    }
    if not fields:
        return kept
    visible = [field for field in fields if not scope.hides(field["name"])]
    kept[_SCHEMA] = json.dumps({"type": "struct", "fields": visible}, ensure_ascii=False, separators=(",", ":"))
    layout = {
        name: text for name, text in schema.items() if name.endswith("Cols") or "Col." in name or "Buckets" in name
    }
    if any(map(scope.is_mentioned, layout.values())):  # clustered by a hidden column
        layout = {
            name: text for name, text in layout.items() if not name.removeprefix(f"{_SCHEMA}.").startswith(_BUCKETS)
        }
    return kept | layout


def _names_no_column(name: str, scope: ColumnScope) -> bool:
    """Returns whether the name of a parameter mentions no hidden column. A column may be called `version` or
    `field`."""
    return name.lower() in FORMAT_PARAMETERS or not scope.is_mentioned(name)


def _spark_fields(parameters: dict[str, str]) -> list[dict[str, Any]]:
    """Returns the fields of the schema that Spark has written into a table's parameters; none without a valid one."""
    text = parameters.get(_SCHEMA)
    if text is None:
        count = parameters.get(f"{_SCHEMA}.numParts", "0")
        numbers = range(int(count)) if count.isdecimal() and len(count) < _LONGEST_COUNT else range(0)
        text = "".join(parameters.get(f"{_SCHEMA}.part.{number}", "") for number in numbers)
    try:
        fields = json.loads(text)["fields"]
        return [field for field in fields if isinstance(field["name"], str)]
    except (ValueError, KeyError, TypeError):
        return []
