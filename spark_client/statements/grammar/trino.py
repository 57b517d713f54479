"""CREATE TABLE as Trino's Hive connector has it, in Spark's words. Pure.

Grammar: Trino's CREATE TABLE … WITH (partitioned_by = ARRAY['ds'], bucketed_by = ARRAY['x'], bucket_count = 50, …),
with the partition columns among the columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.reader import Reader
from spark_client.statements.grammar.tokens import parts, tokens
from spark_client.statements.grammar.translation import Translation, columns_and_keys

_CANDIDATE = re.compile(r"\bwith\s*\(", re.IGNORECASE)
_KNOWN = ("format", "partitioned_by", "bucketed_by", "bucket_count", "sorted_by", "external_location")
# Of types that Hive and Spark call otherwise.
_TYPES = {
    re.compile(r"\bvarchar\b(?!\s*\()", re.IGNORECASE): "STRING",
    re.compile(r"\bvarbinary\b", re.IGNORECASE): "BINARY",
    re.compile(r"\btimestamp\s*\(\s*\d+\s*\)", re.IGNORECASE): "TIMESTAMP",
}


def parse(text: str) -> Translation | None:
    """Returns the statement, or None where it is not Trino's. Raises InvalidStatementError for what is not there."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    if not reader.take("CREATE", "TABLE"):
        return None
    condition = " IF NOT EXISTS" if reader.take("IF", "NOT", "EXISTS") else ""
    name, opening = reader.multipart_name(), reader.peek()
    if name is None or opening is None or not opening.matches("("):
        return None
    columns = [_typed(part) for part in parts(reader.brackets())]
    comment = f" COMMENT {reader.literal()}" if reader.take("COMMENT") else ""
    if not reader.take("WITH"):
        return None
    properties = _properties(reader)
    reader.expect_end()
    data, keys = columns_and_keys(columns, _names(properties, "partitioned_by"), "partitioned_by")
    external, place = "", ""
    if location := properties.get("external_location"):
        external, place = " EXTERNAL", f" LOCATION {location[0]}"
    format_ = properties.get("format")
    stored = f" STORED AS {_plain(format_[0]).upper()}" if format_ else ""
    return Translation(
        f"CREATE{external} TABLE{condition} {name} {data}{comment}{keys}{_buckets(properties)}{stored}{place}"
    )


def _buckets(properties: Mapping[str, list[str]]) -> str:
    if "bucketed_by" not in properties:
        return ""
    if "bucket_count" not in properties:
        raise InvalidStatementError("bucketed_by needs bucket_count")
    order = ", ".join(_names(properties, "sorted_by"))
    return (
        f" CLUSTERED BY ({', '.join(_names(properties, 'bucketed_by'))})"
        + (f" SORTED BY ({order})" if order else "")
        + f" INTO {properties['bucket_count'][0]} BUCKETS"
    )


def _properties(reader: Reader) -> dict[str, list[str]]:
    """Returns what stands behind WITH: the literals of each property, of which only ARRAY has several."""
    reader.expect("(")
    found: dict[str, list[str]] = {}
    while not reader.take(")"):
        name = reader.identifier()
        if name not in _KNOWN:
            raise InvalidStatementError(f"WITH ({name} = …): of Trino's properties there are {', '.join(_KNOWN)}")
        reader.expect("=")
        found[name] = _array(reader) if reader.take("ARRAY") else [reader.literal()]
        reader.take(",")
    return found


def _array(reader: Reader) -> list[str]:
    reader.expect("[")
    found = []
    while not reader.take("]"):
        found.append(reader.literal())
        reader.take(",")
    return found


def _names(properties: Mapping[str, list[str]], name: str) -> list[str]:
    return [_plain(literal) for literal in properties.get(name, ())]


def _plain(literal: str) -> str:
    return literal.strip("'")


def _typed(column: str) -> str:
    """Returns a column with Hive's type for Trino's; its comment stays as it is."""
    words = list(tokens(column))
    end = next((word.start for word in words[1:] if word.matches("COMMENT")), len(column))
    type_ = column[words[0].end : end]
    for pattern, hive in _TYPES.items():
        type_ = pattern.sub(hive, type_)
    return column[: words[0].end] + type_ + column[end:]
