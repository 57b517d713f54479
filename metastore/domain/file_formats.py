"""Parameters that decide how engines read the files of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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


def changed_formats(new: Mapping[str, str], *known: Mapping[str, str]) -> list[str]:
    """Returns the parameters of the format that have other values than in all of the known ones."""
    changed = (name for name, value in new.items() if all(each.get(name) != value for each in known))
    return [name for name in changed if name.lower() in FORMAT_PARAMETERS]
