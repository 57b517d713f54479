"""Finds the values of a table's columns that are heavy enough for directories of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField

from metastore.domain.skew import DEFAULT_SHARE, MAX_VALUES
from spark_client.context import check_kind, reject_remote, require
from spark_client.errors import InvalidStatementError
from spark_client.jvm.catalog import relation_metadata
from spark_client.scan.purpose import no_query
from spark_client.survey.suggestion import HeavyValue, SkewSuggestion
from spark_client.table.sketch import Sketch
from spark_client.table.skew_keys import is_simple
from spark_client.table.skew_limits import MAX_VALUES_SETTING, max_values

_LIMIT_HINT = f"set by {MAX_VALUES} of the table, or {MAX_VALUES_SETTING} of the session"


def find_skew(
    data: DataFrame | str,
    columns: str | Sequence[str],
    *,
    share: float = DEFAULT_SHARE,
    limit: int | None = None,
    spark: SparkSession | None = None,
) -> SkewSuggestion:
    """Returns the values of a column that have at least `share` of the rows of a DataFrame or table.

    Every such value is returned, and no value with a share that is more than 3 % smaller. The data is read once.

    Args:
        data: A DataFrame, or the name of a table or view as in SQL.
        columns: One column, or several columns whose values are counted in combination.
        share: The smallest share of the rows, from 0.0001 to 1.
        limit: Return only this many of the heaviest values.
        spark: The session that resolves the name. Required for a name: its database and views depend on the session.

    Raises:
        InvalidStatementError: A column does not exist or has a type without a text form; `data` is a name and `spark`
            is missing; or more values are heavy than a table may have (`skew.max.values`) and there is no `limit`.
    """
    source = _source(data, spark)
    check_kind(columns, (str, list, tuple), "find_skew", "the name of a column, or a list", "find_skew(df, 'country')")
    names = [columns] if isinstance(columns, str) else list(columns)
    return _find(source, [source.fields(names)], share, limit)[0]


def survey_skew(
    data: DataFrame | str,
    *,
    share: float = DEFAULT_SHARE,
    limit: int | None = None,
    spark: SparkSession | None = None,
) -> tuple[SkewSuggestion, ...]:
    """Runs find_skew on each column, in one pass over the data. The column that prunes most comes first."""
    source = _source(data, spark)
    suggestions = _find(source, [[field] for field in source.data if is_simple(field)], share, limit)
    return tuple(sorted(suggestions, key=lambda suggestion: -suggestion.pruned))


@dataclass(frozen=True, slots=True)
class _Source:
    """The rows to count, and the table that they belong to, if any."""

    frame: DataFrame
    table: str | None = None
    keys: tuple[str, ...] = ()
    properties: Mapping[str, str] | None = None

    @property
    def data(self) -> list[StructField]:
        """The columns that are not partition columns."""
        return [field for field in self.frame.schema.fields if field.name.lower() not in self.keys]

    def fields(self, names: Sequence[str]) -> list[StructField]:
        """Returns the columns with these names. Raises InvalidStatementError for a name that cannot be skewed."""
        of = f" of {self.table}" if self.table else ""
        columns = {field.name.lower(): field for field in self.data}
        folded = [name.lower() for name in names]
        if not names or len(set(folded)) < len(names):
            raise InvalidStatementError(f"list one or more columns{of}, each only once: ({', '.join(names)})")
        for name in folded:
            if name in self.keys:
                raise InvalidStatementError(
                    f"{name} is a partition column{of}: each of its values already has a directory"
                )
            if name not in columns:
                existing = ", ".join(field.name for field in self.data)
                raise InvalidStatementError(f"no column {name}{of}; the columns are {existing}")
            if not is_simple(columns[name]):
                type_ = columns[name].dataType.simpleString()
                raise InvalidStatementError(f"{name}{of} has type {type_}, which cannot be a skewed column")
        return [columns[name] for name in folded]

    def most(self) -> int:
        """Returns the maximum number of heavy values that the table may have."""
        setting = self.frame.sparkSession.conf.get(MAX_VALUES_SETTING, None)
        return max_values(self.properties or {}, setting)


def _source(data: DataFrame | str, spark: SparkSession | None) -> _Source:
    reject_remote(spark or data, "find_skew", "SHOW SKEW IN table (column), or SHOW SKEW IN table for every column")
    if not isinstance(data, str):
        require(
            data,
            DataFrame,
            "find_skew",
            "a DataFrame or the name of a table",
            "find_skew('db.t', 'column', spark=spark)",
        )
        return _Source(data)
    if spark is None:
        raise InvalidStatementError(
            f"find_skew needs the session that contains {data}: pass spark=, or spark.table('{data}')"
        )
    frame = spark.table(data)
    facts = relation_metadata(spark, data)
    return _Source(frame, data, facts.partition_columns, facts.properties)


def _find(
    source: _Source, combinations: Sequence[Sequence[StructField]], share: float, limit: int | None
) -> list[SkewSuggestion]:
    allowed = source.most()
    if limit is not None and not 1 <= limit <= allowed:
        raise InvalidStatementError(
            f"the limit is {limit:,}; it must be from 1 to {allowed:,}, the maximum of the table ({_LIMIT_HINT})"
        )
    sketch = Sketch(share, (limit or allowed) + 1)
    with no_query(source.frame.sparkSession):
        ((_, rows, counted),) = sketch.count(source.frame, (), combinations)
    suggestions = []
    for fields, top in zip(combinations, counted, strict=True):
        values = tuple(HeavyValue(texts, count, count / rows) for texts, count in sketch.heavy(top, fields, rows))
        names = tuple(field.name for field in fields)
        suggestions.append(SkewSuggestion(source.table, names, values[:limit], rows, sketch.error(rows)))
    return suggestions if limit else [_checked(suggestion, allowed) for suggestion in suggestions]


def _checked(suggestion: SkewSuggestion, allowed: int) -> SkewSuggestion:
    if len(suggestion.values) > allowed:
        name = f"{', '.join(suggestion.columns)}{f' of {suggestion.table}' if suggestion.table else ''}"
        raise InvalidStatementError(
            f"more than {allowed:,} values of {name} have that share of the rows; use a larger share or a limit "
            f"({_LIMIT_HINT})"
        )
    return suggestion
