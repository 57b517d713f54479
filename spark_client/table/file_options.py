"""What Spark's writers of Parquet and ORC are told for a table."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from metastore.client.structs import Table
from spark_client.jvm.sessions import explicit_setting

# Where a table says it, Hive's name first; then Spark's, which Doris' CREATE TABLE has as well.
_PROPERTIES = {"parquet": ("parquet.compression", "compression"), "orc": ("orc.compress", "compression")}
_SETTINGS = {"parquet": "spark.sql.parquet.compression.codec", "orc": "spark.sql.orc.compression.codec"}
# Hive's own, and Doris'; Spark's own for ORC is zstd.
_DEFAULTS = {"parquet": "snappy", "orc": "zlib"}
_PLAIN = {"parquet": "uncompressed", "orc": "none"}


def file_options(spark: SparkSession, table: Table, format_: str) -> Mapping[str, str]:
    """Returns the table's own `parquet.…` and `orc.…` properties (block size, bloom filters …), and how to compress.

    The table's compression wins over the session's, if that was set, and this over the default. `plain` is none.
    """
    properties = {**table.parameters, **table.storage.serde_parameters}
    own = {name: value for name, value in properties.items() if name.startswith(f"{format_}.")}
    lower = {name.lower(): value for name, value in properties.items()}
    wanted = [lower[name] for name in _PROPERTIES[format_] if name in lower]
    codec = (wanted or [_session_codec(spark, format_) or _DEFAULTS[format_]])[0].lower()
    return {**own, "compression": _PLAIN[format_] if codec == "plain" else codec}


def _session_codec(spark: SparkSession, format_: str) -> str | None:
    """Returns what somebody has set; Spark's own default is none of the user's wishes."""
    return explicit_setting(spark, _SETTINGS[format_])
