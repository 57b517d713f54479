"""How engines find the columns of a table in its files: by name or by position."""

from __future__ import annotations

from typing import Final

_WITH_NAMES: Final = ("parquet", "orc", "avro", "json", "iceberg", "delta", "hudi")
_HIVE: Final = "hive"


def finds_by_position(serde: str | None, provider: str | None) -> bool:
    """Tells whether files name no columns, as text and CSV: engines then take the schema's n-th column for the n-th.

    `provider`: of a table that Spark has created with USING. It decides: Spark does not read with the serde. A table
    without a serde has no files.
    """
    is_of_spark = provider is not None and provider.lower() != _HIVE
    read_by = ((provider if is_of_spark else serde) or "").lower()
    return bool(read_by) and not any(name in read_by for name in _WITH_NAMES)
