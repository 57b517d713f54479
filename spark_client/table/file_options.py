"""The options of a table for Spark's writers of Parquet and ORC."""

from __future__ import annotations

from collections.abc import Mapping

from metastore.client.structs import Table

# The properties that select the codec, in order of preference: Hive's, then Spark's, which Doris also uses.
_PROPERTIES = {"parquet": ("parquet.compression", "compression"), "orc": ("orc.compress", "compression")}
_SETTINGS = {"parquet": "spark.sql.parquet.compression.codec", "orc": "spark.sql.orc.compression.codec"}
# The default codecs of Hive and Doris. Spark's default for ORC is zstd.
_DEFAULTS = {"parquet": "snappy", "orc": "zlib"}
_PLAIN = {"parquet": "uncompressed", "orc": "none"}


def file_options(settings: Mapping[str, str], table: Table, format_: str) -> Mapping[str, str]:
    """Returns the table's own `parquet.…` and `orc.…` properties (block size, bloom filters …) and the compression.

    `settings`: those that the session sets explicitly. Spark's defaults do not count.

    The table's codec overrides a codec that the session sets explicitly, which overrides the default. `plain` means no
    compression.
    """
    properties = {**table.parameters, **table.storage.serde_parameters}
    format_properties = {name: value for name, value in properties.items() if name.startswith(f"{format_}.")}
    lower = {name.lower(): value for name, value in properties.items()}
    declared = [lower[name] for name in _PROPERTIES[format_] if name in lower]
    codec = (declared or [settings.get(_SETTINGS[format_]) or _DEFAULTS[format_]])[0].lower()
    return {**format_properties, "compression": _PLAIN[format_] if codec == "plain" else codec}
