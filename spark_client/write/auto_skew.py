"""The table property skew.auto: each load chooses the heavy values of the partitions that it creates, from its rows."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom
from pyspark.sql.types import StructField

from metastore.client import MetastoreClient
from metastore.client.errors import ClientError
from metastore.client.scans import recorded_workload
from metastore.client.structs import NOT_SKEWED, Skew, Table
from metastore.domain.layout_advice import TableLayout, advised_columns
from metastore.domain.skew import AUTO_SHARE as SHARE
from metastore.domain.skew import DEFAULT_SHARE
from spark_client.errors import InvalidInsertError
from spark_client.table.properties import AUTO, auto_columns, auto_columns_problem, auto_problem, is_advised
from spark_client.table.properties import AUTO_COLUMNS as COLUMNS  # without it, the columns of SKEWED BY are used
from spark_client.table.sketch import Sketch
from spark_client.table.skew_keys import is_simple, key_of, values_of
from spark_client.table.skew_limits import MAX_VALUES_SETTING, max_values
from spark_client.write.partition_rows import partition_columns, partition_texts
from spark_client.write.skewed_directory import is_in, partition_key
from spark_client.write.snapshot import Values

_LOG = logging.getLogger(__name__)

_COMPLEX = ("array", "map", "struct", "binary", "uniontype", "void", "variant", "interval")
_NUMBERS = "map<string, map<string, int>>"


@dataclass(frozen=True, slots=True)
class AutoSkew:
    """The chosen skew of each new partition.

    `numbers` has the directory number of each heavy key, and `fields` the columns of the keys (table/skew_keys.py).
    """

    skews: Mapping[Values, Skew] = field(default_factory=dict)
    numbers: Mapping[Values, Mapping[str, int]] = field(default_factory=dict)
    fields: tuple[StructField, ...] = ()

    def directory_number(self, table: Table, otherwise: SparkColumn | None) -> SparkColumn | None:
        """Returns the directory number of a row. `otherwise` is the number in partitions that already exist."""
        number = self._number_in_new(table) if any(self.numbers.values()) else None
        if otherwise is None or not self.skews:
            return otherwise if number is None else number
        # The table's own heavy values do not apply to new partitions, even if nothing is heavy in them.
        number = F.lit(0) if number is None else number
        return F.when(is_in(list(self.skews), table), number).otherwise(otherwise)

    def _number_in_new(self, table: Table) -> SparkColumn:
        known = {_text(values): numbers for values, numbers in self.numbers.items()}
        numbers = F.from_json(F.lit(json.dumps(known)), _NUMBERS)
        of_partition = F.try_element_at(numbers, partition_key(partition_columns(table)))
        return F.coalesce(F.try_element_at(of_partition, key_of(self.fields)), F.lit(0))


def is_auto(table: Table) -> bool:
    """Returns whether loads choose the heavy values of the table. Raises InvalidInsertError if they cannot."""
    if table.parameters.get(AUTO, "").lower() != "true":
        return False
    partitioned, bucketed = bool(table.partition_columns), bool(table.buckets.count)
    if problem := auto_problem(table.full_name, partitioned=partitioned, bucketed=bucketed):
        raise InvalidInsertError(problem)
    if not is_advised(table.parameters) and not _columns(table):
        raise InvalidInsertError(
            f"{table.full_name} has {AUTO}, but no columns to choose from: set {COLUMNS}, or SKEWED BY"
        )
    return True


def auto_columns_of(table: Table, metastore: MetastoreClient) -> tuple[str, ...]:
    """Returns the columns whose heavy values a load chooses, in lower case; none if nothing is advised.

    With `advised`, it is the column by which the recorded queries of the table filter most. Without advice, or the
    right to read the table, the columns of SKEWED BY are used.
    """
    if not is_advised(table.parameters):
        return _columns(table)
    try:
        queries, _ = recorded_workload(metastore.methods, table.database, table.name)
    except ClientError as error:
        _LOG.warning("%s: %s is advised, but the record of scans cannot be read: %s", table.full_name, COLUMNS, error)
        return table.skew.columns
    keys = tuple(column.name for column in table.partition_columns)
    allowed = [column.name for column in table.columns if not column.type.startswith(_COMPLEX)]
    layout = TableLayout(table.full_name, keys=keys, bucketed=table.buckets.columns)
    return advised_columns(queries, layout, allowed) or table.skew.columns


def choose_skew(table: Table, columns: tuple[str, ...], rows: DataFrame, kept: Collection[Values]) -> AutoSkew:
    """Returns the skew of each partition that has rows, except those in `kept`. Runs a job that reads the rows once.

    `columns`: those of the heavy values, in lower case.
    """
    fields = {struct_field.name.lower(): struct_field for struct_field in rows.schema.fields}
    data = {column.name for column in table.columns}
    if problem := auto_columns_problem(table.full_name, table.parameters, data):
        raise InvalidInsertError(problem)
    keys = tuple(fields[name] for name in columns)
    if odd := [field for field in keys if not is_simple(field)]:
        type_ = odd[0].dataType.simpleString()
        raise InvalidInsertError(
            f"{COLUMNS} of {table.full_name}: {odd[0].name} has type {type_}, which cannot have heavy values"
        )
    sketch = _sketch(table, rows)
    new = rows.filter(~is_in(list(kept), table)) if kept else rows
    skews, numbers = {}, {}
    for values, count, (top,) in sketch.count(new, partition_texts(partition_columns(table)), [keys]):
        heavy = [key for key, key_count in top if key_count >= sketch.share * count]
        texts = {key: text for key in heavy if (text := values_of(key, keys)) is not None}
        declared = tuple(dict.fromkeys(texts.values()))
        skews[values] = Skew(columns, declared, {}, directories=True) if declared else NOT_SKEWED
        numbers[values] = {key: declared.index(text) + 1 for key, text in texts.items()}
    return AutoSkew(skews, numbers, keys)


def _columns(table: Table) -> tuple[str, ...]:
    return auto_columns(table.parameters) or table.skew.columns


def _sketch(table: Table, rows: DataFrame) -> Sketch:
    share = float(table.parameters.get(SHARE, DEFAULT_SHARE))  # `check_writable` has checked it
    setting = rows.sparkSession.conf.get(MAX_VALUES_SETTING, None)
    return Sketch(share, max_values(table.parameters, setting))


def _text(values: Sequence[str]) -> str:
    return "".join(f"{len(value)}:{value}" for value in values)
