"""Translates CREATE TABLE of Trino's Hive connector, and its property for empty buckets, to Spark's syntax. Pure.

Grammar: Trino's CREATE TABLE … WITH (partitioned_by = ARRAY['ds'], bucketed_by = ARRAY['x'], bucket_count = 50, …),
with the partition columns as the last columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.reader import Reader
from spark_client.statements.grammar.tokens import parts, tokens
from spark_client.statements.grammar.translation import Translation, columns_and_keys

_CANDIDATE = re.compile(r"\bwith\s*\(", re.IGNORECASE)
_SETTING = re.compile(r"\s*set\s+hive\.create-empty-bucket-files\b", re.IGNORECASE)
_KNOWN = ("format", "partitioned_by", "bucketed_by", "bucket_count", "sorted_by", "external_location")
# Trino's types that have other names in Hive and Spark.
_TYPES = {
    re.compile(r"\bvarchar\b(?!\s*\()", re.IGNORECASE): "STRING",
    re.compile(r"\bvarbinary\b", re.IGNORECASE): "BINARY",
    re.compile(r"\btimestamp\s*\(\s*\d+\s*\)", re.IGNORECASE): "TIMESTAMP",
}


def parse(text: str) -> Translation | None:
    """Returns the translation, or None for other syntax. Raises InvalidStatementError for unknown properties."""
    if setting := _SETTING.match(text):
        return Translation(f"SET hive.create_empty_bucket_files{text[setting.end() :]}", "key string, value string")
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
    external, location_clause = "", ""
    if location := properties.get("external_location"):
        external, location_clause = " EXTERNAL", f" LOCATION {location[0]}"
    format_ = properties.get("format")
    stored = f" STORED AS {_plain(format_[0]).upper()}" if format_ else ""
    return Translation(
        f"CREATE{external} TABLE{condition} {name} {data}{comment}{keys}{_buckets(properties)}{stored}{location_clause}"
    )


def _buckets(properties: Mapping[str, list[str]]) -> str:
    if "bucketed_by" not in properties:
        # Trino's default of bucket_count is 0.
        if properties.get("bucket_count", ["0"]) != ["0"] or "sorted_by" in properties:
            name = "bucket_count" if "bucket_count" in properties else "sorted_by"
            raise InvalidStatementError(f"{name} needs bucketed_by, the columns by which rows go into buckets")
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
    """Parses (name = value, …) after WITH. Returns the literals of each property: one, unless it is an ARRAY."""
    reader.expect("(")
    properties: dict[str, list[str]] = {}
    while not reader.take(")"):
        name = reader.identifier()
        if name not in _KNOWN:
            raise InvalidStatementError(
                f"WITH ({name} = …) is not supported; the supported properties of Trino are {', '.join(_KNOWN)}"
            )
        reader.expect("=")
        properties[name] = _array(reader) if reader.take("ARRAY") else [reader.literal()]
        reader.take(",")
    return properties


def _array(reader: Reader) -> list[str]:
    reader.expect("[")
    literals = []
    while not reader.take("]"):
        literals.append(reader.literal())
        reader.take(",")
    return literals


def _names(properties: Mapping[str, list[str]], name: str) -> list[str]:
    return [_plain(literal) for literal in properties.get(name, ())]


def _plain(literal: str) -> str:
    return literal.strip("'")


def _typed(column: str) -> str:
    """Returns a column definition with Trino's type replaced by Hive's. The comment is unchanged."""
    words = list(tokens(column))
    end = next((word.start for word in words[1:] if word.matches("COMMENT")), len(column))
    type_ = column[words[0].end : end]
    for pattern, hive in _TYPES.items():
        type_ = pattern.sub(hive, type_)
    return column[: words[0].end] + type_ + column[end:]
