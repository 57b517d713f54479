"""find_skew: which values of a table's columns are heavy enough for a directory of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField

from metastore.domain.skew_limit import MAX_VALUES
from spark_client.context import reject_remote
from spark_client.errors import InvalidStatementError
from spark_client.jvm.catalog import relation_metadata
from spark_client.survey.suggestion import HeavyValue, SkewSuggestion
from spark_client.table.sketch import DEFAULT_SHARE, Sketch
from spark_client.table.skew_keys import is_simple
from spark_client.table.skew_limits import MAX_VALUES_SETTING, max_values

_MEND = f"{MAX_VALUES} of the table, or {MAX_VALUES_SETTING} of the session, says how many"


def find_skew(
    data: DataFrame | str, columns: str | Sequence[str], *, share: float = DEFAULT_SHARE, limit: int | None = None
) -> SkewSuggestion:
    """Returns the values of `columns` (several: taken together) that have at least `share` of the rows of a frame or
    table.

    Every such value is found, and none that has 3 % less. The data are read once. `limit`: only the heaviest so many.

    Raises:
        InvalidStatementError: a column is not there, or of a type without a text; or more values are heavy than a
            table may have (`skew.max.values`) and no `limit` is given.
    """
    source = _source(data)
    names = [columns] if isinstance(columns, str) else list(columns)
    return _find(source, [source.fields(names)], share, limit)[0]


def survey_skew(
    data: DataFrame | str, *, share: float = DEFAULT_SHARE, limit: int | None = None
) -> tuple[SkewSuggestion, ...]:
    """find_skew of each column for itself, in one pass: what prunes most is first. Raises as it does."""
    source = _source(data)
    suggestions = _find(source, [[field] for field in source.data if is_simple(field)], share, limit)
    return tuple(sorted(suggestions, key=lambda suggestion: -suggestion.pruned))


@dataclass(frozen=True, slots=True)
class _Source:
    """Rows, and what is known of the table that they are of."""

    frame: DataFrame
    table: str | None = None
    keys: tuple[str, ...] = ()
    properties: Mapping[str, str] | None = None

    @property
    def data(self) -> list[StructField]:
        """The columns that are not partition columns."""
        return [field for field in self.frame.schema.fields if field.name.lower() not in self.keys]

    def fields(self, names: Sequence[str]) -> list[StructField]:
        """Returns the columns of these names. Raises InvalidStatementError."""
        of = f" of {self.table}" if self.table else ""
        own = {field.name.lower(): field for field in self.data}
        wanted = [name.lower() for name in names]
        if not names or len(set(wanted)) < len(names):
            raise InvalidStatementError(f"name one or more columns{of}, each once: ({', '.join(names)})")
        for name in wanted:
            if name in self.keys:
                raise InvalidStatementError(f"{name} is a partition column{of}: each of its values has a directory")
            if name not in own:
                known = ", ".join(field.name for field in self.data)
                raise InvalidStatementError(f"{name} is no column{of}; its columns are {known}")
            if not is_simple(own[name]):
                type_ = own[name].dataType.simpleString()
                raise InvalidStatementError(f"{name}{of} is of type {type_}: nothing is skewed by that")
        return [own[name] for name in wanted]

    def most(self) -> int:
        """Tells how many heavy values the table may have."""
        setting = self.frame.sparkSession.conf.get(MAX_VALUES_SETTING, None)
        return max_values(self.properties or {}, setting)


def _source(data: DataFrame | str) -> _Source:
    reject_remote(data, "find_skew", "SHOW SKEW IN table (column), or of each column: SHOW SKEW IN table")
    if isinstance(data, DataFrame):
        return _Source(data)
    spark = SparkSession.getActiveSession()
    if spark is None:
        raise InvalidStatementError(f"no session is active to read {data} in: make one with spark_client.session")
    frame = spark.table(data)
    facts = relation_metadata(spark, data)
    return _Source(frame, data, facts.partition_columns, facts.properties)


def _find(
    source: _Source, combinations: Sequence[Sequence[StructField]], share: float, limit: int | None
) -> list[SkewSuggestion]:
    allowed = source.most()
    if limit is not None and not 1 <= limit <= allowed:
        raise InvalidStatementError(f"a limit of {limit:,}: a table may have 1 to {allowed:,} heavy values ({_MEND})")
    sketch = Sketch(share, (limit or allowed) + 1)
    ((_, rows, counted),) = sketch.count(source.frame, (), combinations)
    found = []
    for fields, top in zip(combinations, counted, strict=True):
        values = tuple(HeavyValue(texts, count, count / rows) for texts, count in sketch.heavy(top, fields, rows))
        names = tuple(field.name for field in fields)
        found.append(SkewSuggestion(source.table, names, values[:limit], rows, sketch.error(rows)))
    return found if limit else [_checked(suggestion, allowed) for suggestion in found]


def _checked(found: SkewSuggestion, allowed: int) -> SkewSuggestion:
    if len(found.values) > allowed:
        name = f"{', '.join(found.columns)}{f' of {found.table}' if found.table else ''}"
        raise InvalidStatementError(
            f"more than {allowed:,} values of {name} have that share of the rows; ask for a larger share, or with a "
            f"limit ({_MEND})"
        )
    return found
