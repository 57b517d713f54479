"""The PARTITION clause of an INSERT: static values, dynamic columns, and the clauses that Hive rejects. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metastore.domain.partition_names import DEFAULT_PARTITION
from spark_client.errors import InvalidInsertError

# Texts that Hive reserves (ReservedPartitionValue): names of its archives, and of a ZooKeeper lock.
_RESERVED = (
    "__HIVE_DEFAULT_ZOOKEEPER_PARTITION__",
    "_INTERMEDIATE_ORIGINAL",
    "_INTERMEDIATE_ARCHIVED",
    "_INTERMEDIATE_EXTRACTED",
)


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """The `static` values (texts as given) of the first partition columns, and the `dynamic` columns, in the table's
    order.
    """

    static: Mapping[str, str]
    dynamic: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DynamicPartitions:
    """The settings `hive.exec.dynamic.partition` and whether `hive.exec.dynamic.partition.mode` is strict."""

    enabled: bool = True
    strict: bool = False


def resolve_partition(
    table: str,
    columns: Sequence[str],
    clause: Mapping[str, str | None],
    *,
    if_not_exists: bool,
    dynamic: DynamicPartitions = DynamicPartitions(),
) -> PartitionSpec:
    """Returns the clause in the order of the table's partition columns. Without a clause, all are dynamic (Hive 4).

    `clause` maps a column to its value, or to None if it is dynamic.

    Raises InvalidInsertError with the codes and texts of Hive (ErrorMsg, SemanticAnalyzer,
    BaseSemanticAnalyzer.TableSpec).
    """
    values = {name.lower(): value for name, value in clause.items()}
    shown = "{" + ", ".join(f"{name}={'null' if value is None else value}" for name, value in values.items()) + "}"
    if values and not columns:
        raise InvalidInsertError(f"{table}: table is not partitioned but partition spec exists: {shown}")
    if not values.keys() <= set(columns):
        raise InvalidInsertError(f"{table}: Partition spec {shown} contains non-partition columns")
    static = {name: values[name] or DEFAULT_PARTITION for name in columns if values.get(name) is not None}
    spec = PartitionSpec(static, tuple(name for name in columns if name not in static))
    _check_dynamic(table, spec, shown, dynamic, has_clause=bool(values))
    if values and len(values) < len(columns):
        code = 10094 if None in values.values() else 10006
        raise InvalidInsertError(
            f"[Error {code}]: {table}: Partition spec {shown} doesn't contain all ({len(columns)}) partition columns"
        )
    if tuple(static) != tuple(columns[: len(static)]):
        raise InvalidInsertError(
            f"[Error 10094]: {table}: Dynamic partition cannot be the parent of a static partition {shown}"
        )
    if if_not_exists and spec.dynamic:
        raise InvalidInsertError(
            f"[Error 10127]: {table}: Dynamic partitions do not support IF NOT EXISTS. "
            f"Specified partitions with value : {shown}"
        )
    _check_values(table, static)
    return spec


def _check_dynamic(
    table: str, spec: PartitionSpec, shown: str, dynamic: DynamicPartitions, *, has_clause: bool
) -> None:
    """Checks whether dynamic partitions are allowed. As in Hive 4, strict mode does not apply without a PARTITION
    clause.
    """
    if spec.dynamic and not dynamic.enabled:
        raise InvalidInsertError(
            f"[Error 10095]: {table}: Dynamic partition is disabled. Either enable it by setting "
            "hive.exec.dynamic.partition=true or specify partition column values"
        )
    if has_clause and spec.dynamic and not spec.static and dynamic.strict:
        raise InvalidInsertError(
            f"[Error 10096]: {table}: Dynamic partition strict mode requires at least one static partition column. "
            f"To turn this off set hive.exec.dynamic.partition.mode=nonstrict: {shown}"
        )


def _check_values(table: str, static: Mapping[str, str]) -> None:
    for value in static.values():
        reserved = next((text for text in _RESERVED if text in value), None)
        if reserved:
            raise InvalidInsertError(
                f"[Error 10111]: {table}: Partition value contains a reserved substring "
                f"(User value: {value} Reserved substring: {reserved})"
            )


def check_count(table: str, expected: int, count: int) -> None:
    """Raises InvalidInsertError unless the query has the expected number of columns."""
    if expected != count:
        raise InvalidInsertError(
            "[Error 10044]: Cannot insert into target table because column number/types are different: "
            f"Table {table} has {expected} columns, but query has {count} columns."
        )


def place_columns(
    table: str, targets: Sequence[str], static: Mapping[str, str], listed: Sequence[str] | None, count: int
) -> list[int | None]:
    """Returns, for each target column, the position of the query's column that supplies it. None means NULL.

    Args:
        table: The table's name, for messages.
        targets: The data columns, followed by the dynamic partition columns.
        static: The static partition values.
        listed: The column list of the INSERT, or None.
        count: The number of columns of the query.

    Raises InvalidInsertError for a column list that does not fit the table.
    """
    names = list(targets) if listed is None else [name.lower() for name in listed]
    for name in names:
        if name in static:
            raise InvalidInsertError(f"{table}: static partition column '{name}' must not be in the column list")
        if name not in targets:
            raise InvalidInsertError(f"{table}: '{name}' in the column list is not a column of the table")
        if names.count(name) > 1:
            raise InvalidInsertError(f"{table}: '{name}' is listed twice in the column list")
    check_count(table, len(names), count)
    return [names.index(target) if target in names else None for target in targets]
