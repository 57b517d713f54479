"""Reads Hive's settings out of those that the session sets (SET, `conf`), by their names in HiveConf."""

from __future__ import annotations

from collections.abc import Mapping

from spark_client.errors import InvalidInsertError
from spark_client.table.partition_spec import DynamicPartitions

_ENABLED = "hive.exec.dynamic.partition"
_MODE = "hive.exec.dynamic.partition.mode"


def dynamic_partitions(settings: Mapping[str, str]) -> DynamicPartitions:
    """Returns the settings of dynamic partitions. Raises InvalidInsertError for a mode that Hive does not know."""
    return parse_dynamic_partitions(settings.get(_ENABLED), settings.get(_MODE))


def parse_dynamic_partitions(enabled: str | None, mode: str | None) -> DynamicPartitions:
    """Returns the same from the texts of the settings. Raises InvalidInsertError as `dynamic_partitions`."""
    mode = (mode or "nonstrict").strip().lower()
    if mode not in ("strict", "nonstrict"):
        raise InvalidInsertError(f"{_MODE} is {mode!r}; it must be strict or nonstrict")
    return DynamicPartitions(enabled=(enabled or "true").strip().lower() == "true", strict=mode == "strict")


def setting(settings: Mapping[str, str], name: str, default: str) -> str:
    return (settings.get(name) or default).strip()


def is_true(settings: Mapping[str, str], name: str, default: str) -> bool:
    return setting(settings, name, default).lower() == "true"


def number(settings: Mapping[str, str], name: str, default: int) -> int:
    text = setting(settings, name, str(default))
    try:
        return int(text)
    except ValueError:
        raise InvalidInsertError(f"{name} is {text!r}; it must be an integer") from None
