"""What Spark's own parser makes of the names, constants and PARTITION clauses of statements that it does not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.jvm.plans import elements, frame_of, kind

CATALOG_NAME = "catalog.name"
# The values that a PARTITION clause names, as written, by column; None: NULL.
PartitionValues = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """ALTER TABLE … ADD [IF NOT EXISTS] PARTITION …; `has_location`: one of them says where it lies."""

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
    """Returns what the session's own catalog may be called beside `spark_catalog` (see CatalogNames.java)."""
    return str(context.spark.conf.get(CATALOG_NAME, "hive")).lower()


def is_temporary(context: Context, words: Sequence[str]) -> bool:
    """Tells whether a name of these parts is that of a temporary view."""
    return len(words) == 1 and bool(_state(context).catalog().getTempView(words[0]).isDefined())


def parsed(context: Context, text: str) -> Any:
    """Returns Spark's plan of a statement."""
    parser = _state(context).sqlParser()
    return parser.sparks(text) if kind(parser) == "Parser" else parser.parsePlan(text)


def spark_sql(context: Context, text: str) -> DataFrame:
    """Runs a statement that is Spark's own, past the statements of this library."""
    return frame_of(context.spark, parsed(context, text))


def default_format(context: Context) -> str:
    """Returns STORED AS, for a table of which nothing says how: Hive's setting, else Parquet."""
    return f"STORED AS {context.spark.conf.get('hive.default.fileformat', 'PARQUET')}"


def names_format(context: Context, text: str) -> bool:
    """Tells whether a CREATE TABLE has a clause about its format: STORED AS, ROW FORMAT or USING."""
    said = parsed(context, text).tableSpec()
    return bool(said.provider().isDefined() or said.serde().isDefined())


def literal_value(context: Context, text: str) -> str:
    """Returns the text of a constant as written."""
    return str(_parser(context).parseExpression(text).value())


def clause(context: Context, table: str, partition: str) -> tuple[PartitionValues, ...]:
    """Returns the values of each partition that a PARTITION clause names, as written with its brackets."""
    return add_partitions(context, f"ALTER TABLE {table} ADD PARTITION {partition}").partitions


def add_partitions(context: Context, text: str) -> AddPartitions:
    """Returns what the statement says."""
    plan = parsed(context, text)
    parts = list(elements(plan.parts()))
    has_location = any(part.location().isDefined() for part in parts)
    return AddPartitions(tuple(_given(part.spec()) for part in parts), bool(plan.ifNotExists()), has_location)


def drop_partitions(context: Context, text: str) -> DropPartitions:
    """Returns what the statement says."""
    plan = parsed(context, text)
    return DropPartitions(tuple(_given(part.spec()) for part in elements(plan.parts())), bool(plan.ifExists()))


def rename_partition(context: Context, text: str) -> RenamePartition:
    """Returns what the statement says."""
    plan = parsed(context, text)
    return RenamePartition(_given(getattr(plan, "from")().spec()), _given(plan.to().spec()))


def shown_partitions(context: Context, text: str) -> PartitionValues | None:
    """Returns the PARTITION clause of SHOW PARTITIONS, None where it has none."""
    pattern = parsed(context, text).pattern()
    return _given(pattern.get().spec()) if pattern.isDefined() else None


def _given(spec: Any) -> PartitionValues:
    keys, found = spec.keysIterator(), {}
    while keys.hasNext():
        key = keys.next()
        value = spec.apply(key)
        found[str(key)] = None if value is None else str(value)
    return found


def _parser(context: Context) -> Any:
    """Returns the parser that does not know our statements."""
    parser = _state(context).sqlParser()
    return parser.delegate() if kind(parser) == "Parser" else parser


def _state(context: Context) -> Any:
    return context.spark._jsparkSession.sessionState()  # noqa: SLF001 - PySpark has no public API for it
