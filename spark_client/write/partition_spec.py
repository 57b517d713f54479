"""The PARTITION clause of an INSERT: what is fixed, what comes with the rows, and what Hive refuses. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spark_client.errors import InvalidInsertError
from spark_client.write.names import DEFAULT_PARTITION


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """`static` values (texts as given) of the first partition columns; the `dynamic` ones follow, in table order."""

    static: Mapping[str, str]
    dynamic: tuple[str, ...]


def resolve_partition(
    table: str, columns: Sequence[str], clause: Mapping[str, str | None], *, if_not_exists: bool
) -> PartitionSpec:
    """The clause in the table's order, whatever its own; without a clause everything is dynamic (Hive 4).

    `clause` maps a column to its text, or to None where it is dynamic. Raises InvalidInsertError with Hive's texts
    (SemanticAnalyzer, BaseSemanticAnalyzer.TableSpec).
    """
    given = {name.lower(): value for name, value in clause.items()}
    shown = "{" + ", ".join(f"{name}={'null' if value is None else value}" for name, value in given.items()) + "}"
    if given and not columns:
        raise InvalidInsertError(f"{table}: table is not partitioned but partition spec exists: {shown}")
    if not given.keys() <= set(columns):
        raise InvalidInsertError(f"{table}: Partition spec {shown} contains non-partition columns")
    if given and len(given) < len(columns):
        raise InvalidInsertError(
            f"{table}: Partition spec {shown} doesn't contain all ({len(columns)}) partition columns"
        )
    static = {name: given[name] or DEFAULT_PARTITION for name in columns if given.get(name) is not None}
    if tuple(static) != tuple(columns[: len(static)]):
        raise InvalidInsertError(f"{table}: Dynamic partition cannot be the parent of a static partition {shown}")
    dynamic = tuple(columns[len(static) :])
    if if_not_exists and dynamic:
        raise InvalidInsertError(
            f"{table}: Dynamic partitions do not support IF NOT EXISTS. Specified partitions with value : {shown}"
        )
    return PartitionSpec(static, dynamic)


def place_columns(
    table: str, targets: Sequence[str], static: Mapping[str, str], listed: Sequence[str] | None, count: int
) -> list[int | None]:
    """Which of the query's `count` columns (by position) goes to each target column; None is NULL.

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
    if len(names) != count:
        raise InvalidInsertError(
            "Cannot insert into target table because column number/types are different: "
            f"Table {table} has {len(names)} columns, but query has {count} columns."
        )
    return [names.index(target) if target in names else None for target in targets]
