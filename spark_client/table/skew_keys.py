"""One text for the values of several columns, so that one sketch counts them together; and back."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom
from pyspark.sql.types import StructField

from metastore.domain.partition_names import DEFAULT_PARTITION, value_path
from metastore.domain.skew_values import canonical_text
from spark_client.jvm.columns import CHAR_TYPE
from spark_client.jvm.sql_text import quote

# Of a name on most file systems. A longer value can have no directory, so it need not be told from others like it.
_MAX_BYTES = 255
_NULL, _TOO_LONG = "-", "!"
# Beginnings of the names of types by whose values nothing is skewed.
_COMPLEX = ("array", "map", "struct", "binary", "void", "variant", "interval")


def is_simple(field: StructField) -> bool:
    """Tells whether its values have texts, of which directories can be named."""
    return not field.dataType.typeName().startswith(_COMPLEX)


def key_of(fields: Sequence[StructField]) -> SparkColumn:
    """Returns the values as texts with their lengths, so that no two are alike."""
    return F.concat(*map(_part, fields))


def _part(field: StructField) -> SparkColumn:
    text = F.col(quote(field.name)).cast("string")
    if field.metadata.get(CHAR_TYPE, "").startswith("char("):
        text = F.rtrim(text)  # the padding is only Spark's
    whole = F.concat(F.length(text).cast("string"), F.lit(":"), text)
    return F.when(text.isNull(), _NULL).when(F.octet_length(text) > _MAX_BYTES, _TOO_LONG).otherwise(whole)


def values_of(key: str, fields: Sequence[StructField]) -> tuple[str, ...] | None:
    """Returns the texts of a key, null by Hive's name for it; None where they can be the name of no directory."""
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
