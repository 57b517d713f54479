"""Uses Spark's parser for names, constants and PARTITION clauses in this library's statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.jvm.plans import elements, frame_of, kind

CATALOG_NAME = "catalog.name"
# The values of a PARTITION clause as written, by column. None means NULL.
PartitionValues = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """ALTER TABLE … ADD [IF NOT EXISTS] PARTITION …. `has_location`: a partition has a LOCATION."""

    partitions: tuple[PartitionValues, ...]
    if_not_exists: bool
    has_location: bool


@dataclass(frozen=True, slots=True)
class DropPartitions:
    """ALTER TABLE … DROP [IF EXISTS] PARTITION …"""

    partitions: tuple[PartitionValues, ...]
    if_exists: bool


@dataclass(frozen=True, slots=True)
class RenamePartition:
    """ALTER TABLE … PARTITION … RENAME TO PARTITION …"""

    old: PartitionValues
    new: PartitionValues


def identifier(context: Context, name: str) -> list[str]:
    """Returns the parts of a name as written, in lower case."""
    parts = _parser(context).parseMultipartIdentifier(name)
    return [str(part).lower() for part in elements(parts)]


def catalog_name(context: Context) -> str:
    """Returns the additional name of the session catalog, which Spark calls `spark_catalog` (see CatalogNames.java)."""
    return str(context.spark.conf.get(CATALOG_NAME, "hive")).lower()


def is_temporary(context: Context, words: Sequence[str]) -> bool:
    """Returns whether a name with these parts is a temporary view."""
    return len(words) == 1 and bool(_state(context).catalog().getTempView(words[0]).isDefined())


def parsed(context: Context, text: str) -> Any:
    """Returns Spark's plan of a statement."""
    parser = _state(context).sqlParser()
    return parser.parseSparkPlan(text) if kind(parser) == "Parser" else parser.parsePlan(text)


def spark_sql(context: Context, text: str) -> DataFrame:
    """Runs a statement of Spark, without this library's parser."""
    return frame_of(context.spark, parsed(context, text))


def default_format(context: Context) -> str:
    """Returns the STORED AS clause of a table without a format: Hive's setting, or else Parquet."""
    return f"STORED AS {context.spark.conf.get('hive.default.fileformat', 'PARQUET')}"


def names_format(context: Context, text: str) -> bool:
    """Returns whether a CREATE TABLE has a format clause: STORED AS, ROW FORMAT or USING."""
    spec = parsed(context, text).tableSpec()
    return bool(spec.provider().isDefined() or spec.serde().isDefined())


def literal_value(context: Context, text: str) -> str:
    """Returns the value of a constant as written."""
    return str(_parser(context).parseExpression(text).value())


def clause(context: Context, table: str, partition: str) -> tuple[PartitionValues, ...]:
    """Returns the values of each partition in a PARTITION clause, which is passed with its parentheses."""
    return add_partitions(context, f"ALTER TABLE {table} ADD PARTITION {partition}").partitions


def add_partitions(context: Context, text: str) -> AddPartitions:
    """Parses the statement."""
    plan = parsed(context, text)
    parts = list(elements(plan.parts()))
    has_location = any(part.location().isDefined() for part in parts)
    return AddPartitions(tuple(_values(part.spec()) for part in parts), bool(plan.ifNotExists()), has_location)


def drop_partitions(context: Context, text: str) -> DropPartitions:
    """Parses the statement."""
    plan = parsed(context, text)
    return DropPartitions(tuple(_values(part.spec()) for part in elements(plan.parts())), bool(plan.ifExists()))


def rename_partition(context: Context, text: str) -> RenamePartition:
    """Parses ALTER TABLE … PARTITION … RENAME TO PARTITION."""
    plan = parsed(context, text)
    return RenamePartition(_values(getattr(plan, "from")().spec()), _values(plan.to().spec()))


def shown_partitions(context: Context, text: str) -> PartitionValues | None:
    """Returns the PARTITION clause of a SHOW PARTITIONS statement, or None."""
    pattern = parsed(context, text).pattern()
    return _values(pattern.get().spec()) if pattern.isDefined() else None


def _values(spec: Any) -> PartitionValues:
    keys, values = spec.keysIterator(), {}
    while keys.hasNext():
        key = keys.next()
        value = spec.apply(key)
        values[str(key)] = None if value is None else str(value)
    return values


def _parser(context: Context) -> Any:
    """Returns the parser without this library's statements."""
    parser = _state(context).sqlParser()
    return parser.delegate() if kind(parser) == "Parser" else parser


def _state(context: Context) -> Any:
    return context.spark._jsparkSession.sessionState()  # noqa: SLF001 - PySpark has no public API for it
