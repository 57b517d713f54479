"""How engines find the columns of a table in its files: by name or by position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NO_FILES: Final = ""
"""The provider of views, as `finds_by_position` takes it."""
FORMAT_PARAMETERS: Final = frozenset(
    (
        *("external", "transactional", "transactional_properties", "bucketing_version"),
        *("spark.sql.sources.provider", "spark.sql.partitionprovider", "spark.sql.create.version"),
        *("serialization.format", "serialization.null.format", "serialization.encoding"),
        *("serialization.last.column.takes.rest", "skip.header.line.count", "skip.footer.line.count"),
        *("field.delim", "line.delim", "collection.delim", "colelction.delim", "mapkey.delim"),
        *("escape.delim", "quote.delim", "separatorchar", "quotechar", "escapechar"),
        *("sep", "delimiter", "header", "quote", "escape", "encoding", "charset", "linesep", "multiline", "mode"),
        *("nullvalue", "emptyvalue", "dateformat", "timestampformat", "compression"),
    )
)
"""Parameters, in lower case, without which engines would read other rows."""
_WITH_NAMES: Final = ("parquet", "orc", "avro", "json", "iceberg", "delta", "hudi")
_HIVE: Final = "hive"


def changed_formats(new: Mapping[str, str], *known: Mapping[str, str]) -> list[str]:
    """Returns the parameters of the format that have other values than in all of the known ones."""
    changed = (name for name, value in new.items() if all(each.get(name) != value for each in known))
    return [name for name in changed if name.lower() in FORMAT_PARAMETERS]


def finds_by_position(serde: str | None, provider: str | None) -> bool:
    """Returns whether files do not name their columns, as text and CSV: engines then map the n-th column of a file to
    the n-th of the schema.

    `provider`: of a table that Spark has created with USING. It decides: Spark does not read with the serde. A table
    without a serde has no files.
    """
    is_of_spark = provider is not None and provider.lower() != _HIVE
    read_by = ((provider if is_of_spark else serde) or "").lower()
    return bool(read_by) and not any(name in read_by for name in _WITH_NAMES)
