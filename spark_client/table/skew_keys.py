"""Encodes the values of several columns as one text, so that one sketch counts their combinations."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from pyspark.sql.types import StructField

from metastore.domain.partition_names import DEFAULT_PARTITION, value_path
from metastore.domain.skew_values import canonical_text
from spark_client.jvm.columns import CHAR_TYPE
from spark_client.jvm.sql_text import quote

# Maximum length of a file name. Longer values cannot have a directory, so they need not be distinguished.
_MAX_BYTES = 255
_NULL, _TOO_LONG = "-", "!"
# Prefixes of the names of types whose values cannot be skewed values.
_COMPLEX = ("array", "map", "struct", "binary", "void", "variant", "interval")


def is_simple(field: StructField) -> bool:
    """Returns whether the values of a column have a text form, which a directory name needs."""
    return not field.dataType.typeName().startswith(_COMPLEX)


def key_of(fields: Sequence[StructField]) -> SparkColumn:
    """Returns the values of the columns as one text. Each value follows its length, so different values differ."""
    return F.concat(*map(_part, fields))


def _part(field: StructField) -> SparkColumn:
    text = F.col(quote(field.name)).cast("string")
    if field.metadata.get(CHAR_TYPE, "").startswith("char("):
        text = F.rtrim(text)  # Spark adds the padding when it reads
    whole = F.concat(F.length(text).cast("string"), F.lit(":"), text)
    return F.when(text.isNull(), _NULL).when(F.octet_length(text) > _MAX_BYTES, _TOO_LONG).otherwise(whole)


def values_of(key: str, fields: Sequence[StructField]) -> tuple[str, ...] | None:
    """Returns the values of a key, NULL as Hive's default partition name, or None if they cannot name a directory."""
    values: list[str] = []
    rest = key
    for field in fields:
        if rest[0] == _TOO_LONG:
            return None
        if rest[0] == _NULL:
            values.append(DEFAULT_PARTITION)
            rest = rest[1:]
        else:
            length, _, rest = rest.partition(":")
            values.append(canonical_text(field.dataType.simpleString(), rest[: int(length)]))
            rest = rest[int(length) :]
    names = value_path([field.name for field in fields], values).split("/")
    is_name = "\0" not in key and all(len(name.encode()) <= _MAX_BYTES for name in names)
    return tuple(values) if is_name else None
