"""Reads Hive's settings from the session (SET, `conf`), by their names in HiveConf."""

from __future__ import annotations

from pyspark.sql import SparkSession

from spark_client.errors import InvalidInsertError
from spark_client.table.partition_spec import DynamicPartitions

_ENABLED = "hive.exec.dynamic.partition"
_MODE = "hive.exec.dynamic.partition.mode"


def dynamic_partitions(spark: SparkSession) -> DynamicPartitions:
    """Returns the session's settings of dynamic partitions. Raises InvalidInsertError for a mode that Hive does not
    know.
    """
    return parse_dynamic_partitions(spark.conf.get(_ENABLED, "true"), spark.conf.get(_MODE, "nonstrict"))


def parse_dynamic_partitions(enabled: str | None, mode: str | None) -> DynamicPartitions:
    """Returns the same from the texts of the settings. Raises InvalidInsertError as `dynamic_partitions`."""
    mode = (mode or "nonstrict").strip().lower()
    if mode not in ("strict", "nonstrict"):
        raise InvalidInsertError(f"{_MODE} is {mode!r}; it must be strict or nonstrict")
    return DynamicPartitions(enabled=(enabled or "true").strip().lower() == "true", strict=mode == "strict")


def setting(spark: SparkSession, name: str, default: str) -> str:
    return (spark.conf.get(name, default) or default).strip()


def is_true(spark: SparkSession, name: str, default: str) -> bool:
    return setting(spark, name, default).lower() == "true"


def number(spark: SparkSession, name: str, default: int) -> int:
    text = setting(spark, name, str(default))
    try:
        return int(text)
    except ValueError:
        raise InvalidInsertError(f"{name} is {text!r}; it must be an integer") from None
