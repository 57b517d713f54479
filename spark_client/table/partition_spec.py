"""The PARTITION clause of an INSERT: what is fixed, what comes with the rows, and what Hive refuses. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metastore.domain.partition_names import DEFAULT_PARTITION
from spark_client.errors import InvalidInsertError

# What Hive keeps for its own (ReservedPartitionValue): its archives, and a lock of ZooKeeper's.
_RESERVED = (
    "__HIVE_DEFAULT_ZOOKEEPER_PARTITION__",
    "_INTERMEDIATE_ORIGINAL",
    "_INTERMEDIATE_ARCHIVED",
    "_INTERMEDIATE_EXTRACTED",
)


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """`static` values (texts as given) of the first partition columns; the `dynamic` ones follow, in table order."""

    static: Mapping[str, str]
    dynamic: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DynamicPartitions:
    """`hive.exec.dynamic.partition`, and whether `hive.exec.dynamic.partition.mode` is strict."""

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
    """Returns the clause in the table's order, whatever its own; without a clause everything is dynamic (Hive 4).

    `clause` maps a column to its text, or to None where it is dynamic. Raises InvalidInsertError with Hive's codes and
    texts (ErrorMsg, SemanticAnalyzer, BaseSemanticAnalyzer.TableSpec).
    """
    given = {name.lower(): value for name, value in clause.items()}
    shown = "{" + ", ".join(f"{name}={'null' if value is None else value}" for name, value in given.items()) + "}"
    if given and not columns:
        raise InvalidInsertError(f"{table}: table is not partitioned but partition spec exists: {shown}")
    if not given.keys() <= set(columns):
        raise InvalidInsertError(f"{table}: Partition spec {shown} contains non-partition columns")
    static = {name: given[name] or DEFAULT_PARTITION for name in columns if given.get(name) is not None}
    spec = PartitionSpec(static, tuple(name for name in columns if name not in static))
    _check_dynamic(table, spec, shown, dynamic, has_clause=bool(given))
    if given and len(given) < len(columns):
        code = 10094 if None in given.values() else 10006
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
    """Checks whether rows may decide. Without a PARTITION clause strict mode does not matter, as in Hive 4."""
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
    """Raises InvalidInsertError unless the query has as many columns as are wanted."""
    if expected != count:
        raise InvalidInsertError(
            "[Error 10044]: Cannot insert into target table because column number/types are different: "
            f"Table {table} has {expected} columns, but query has {count} columns."
        )


def place_columns(
    table: str, targets: Sequence[str], static: Mapping[str, str], listed: Sequence[str] | None, count: int
) -> list[int | None]:
    """Tells which of the query's `count` columns (by position) goes to each target column; None is NULL.

    `targets` are the data columns and, behind them, the dynamic partition columns; `listed` is the column list of
    the INSERT. Raises InvalidInsertError.
    """
    names = list(targets) if listed is None else [name.lower() for name in listed]
    for name in names:
        if name in static:
            raise InvalidInsertError(f"{table}: static partition column '{name}' cannot be in the column list")
        if name not in targets:
            raise InvalidInsertError(f"{table}: '{name}' in the column list is not a column of the table")
        if names.count(name) > 1:
            raise InvalidInsertError(f"{table}: '{name}' is twice in the column list")
    check_count(table, len(names), count)
    return [names.index(target) if target in names else None for target in targets]
