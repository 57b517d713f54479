"""What a query reads through dependent tables: their partitions, and the base partitions behind them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from metastore.domain.partition_names import DEFAULT_PARTITION, value_path
from spark_client.jvm.plans import elements, kind, nodes_and_subqueries, scala_sequence
from spark_client.table.dependent import MARK

_SHOWN = 10  # partitions on one line
_END = "\x01"  # behind each value; no value of a partition is likely to hold it
_NULL = "null"


@dataclass(frozen=True, slots=True)
class DependentScan:
    """A dependent table (database.table) in a query: which of its partitions are read, and what for them.

    `bases`: for each base table that is read, the names of its partitions.
    """

    table: str
    partitions: tuple[str, ...]
    bases: tuple[tuple[str, tuple[str, ...]], ...]

    def __str__(self) -> str:
        """Returns one line for the table, and one for each base."""
        lines = [f"{self.table}: {_some(self.partitions)}"]
        return "\n".join([*lines, *(f"  reads {base}: {_some(names)}" for base, names in self.bases)])


def dependent_scans(spark: SparkSession, plan: Any, nodes: Iterable[Any]) -> tuple[DependentScan, ...]:
    """Returns one for each dependent table in the query of an analyzed plan, in its order. `nodes`: of its physical
    plan."""
    views = list(_views(plan))
    if not views:
        return ()
    scans = [(_attributes(node.output()), node) for node in nodes if kind(node) in _READERS]
    read: dict[int, tuple[str, Sequence[str], list[list[str]]]] = {}
    found = []
    for view in views:
        wanted = {attribute for leaf in elements(view.collectLeaves()) for attribute in _attributes(leaf.output())}
        mine = [position for position, (attributes, _) in enumerate(scans) if attributes & wanted]
        for position in mine:
            if position not in read:
                read[position] = _READERS[kind(scans[position][1])](spark, scans[position][1])
        found.append(_dependent(view.desc(), [read[position] for position in mine]))
    return tuple(found)


def _dependent(table: Any, read: Sequence[tuple[str, Sequence[str], list[list[str]]]]) -> DependentScan:
    keys = [str(name) for name in elements(table.partitionColumnNames())]
    own: dict[str, None] = {}
    bases: dict[str, dict[str, None]] = {}
    for base, columns, partitions in read:
        for values in partitions:
            own[value_path(keys, values[: len(keys)])] = None
            bases.setdefault(base, {})[value_path(columns, values)] = None
    name = table.identifier()
    return DependentScan(
        f"{name.database().get()}.{name.table()}",
        tuple(sorted(own)),
        tuple((base, tuple(sorted(names))) for base, names in bases.items()),
    )


def _views(plan: Any) -> Iterator[Any]:
    """Returns the views of a plan that are dependent tables, sub-queries included; one that reads another is before
    it."""
    for node in nodes_and_subqueries(plan):
        if kind(node) == "View" and node.desc().properties().contains(MARK):
            yield node


def _read_files(spark: SparkSession, node: Any) -> tuple[str, Sequence[str], list[list[str]]]:
    """Returns the base table, its partition columns and the values of its partitions that a scan reads."""
    relation = node.relation()
    schema, index = relation.partitionSchema(), relation.location()
    known = [element for element in elements(node.partitionFilters()) if kind(element) != "DynamicPruningExpression"]
    filters = scala_sequence(spark, known)
    rows = [
        element.values().toSeq(schema).mkString("", _END, _END)
        for element in elements(index.listFiles(filters, node.dataFilters()))
    ]
    types = [str(field.dataType().typeName()) for field in schema.fields()]
    partitions = [
        [_text(kind, value) for kind, value in zip(types, row.split(_END), strict=False)] for row in dict.fromkeys(rows)
    ]
    name = node.tableIdentifier().get()
    return f"{name.database().get()}.{name.table()}", [str(field.name()) for field in schema.fields()], partitions


def _read_hive(_: SparkSession, node: Any) -> tuple[str, Sequence[str], list[list[str]]]:
    """Reads, as `_read_files`, a scan by Hive's own reader."""
    table = node.relation().tableMeta()
    partitions = [[str(value) for value in element.getValues()] for element in elements(node.prunedPartitions())]
    name = table.identifier()
    columns = [str(column) for column in elements(table.partitionColumnNames())]
    return f"{name.database().get()}.{name.table()}", columns, partitions


_READERS: Mapping[str, Callable[[SparkSession, Any], tuple[str, Sequence[str], list[list[str]]]]] = {
    "FileSourceScanExec": _read_files,
    "HiveTableScanExec": _read_hive,
}


def _text(kind: str, value: str) -> str:
    """Returns a value of Catalyst's as Hive writes it: dates are days, timestamps microseconds."""
    if value == _NULL:
        return DEFAULT_PARTITION
    if kind == "date":
        return str(datetime.date(1970, 1, 1) + datetime.timedelta(days=int(value)))
    if kind == "timestamp":
        moment = datetime.datetime.fromtimestamp(0, datetime.UTC) + datetime.timedelta(microseconds=int(value))
        return moment.isoformat(sep=" ").removesuffix("+00:00")
    return value


def _attributes(output: Any) -> set[int]:
    return {int(element.exprId().id()) for element in elements(output)}


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{len(names):,} partitions" + (f" ({', '.join(names[:_SHOWN])}{more})" if names else "")
