"""Statistics of a table, which clients write after their rows: INSERT is enough to change them."""

from __future__ import annotations

from typing import Any, Final

from metastore.domain.column_statistics import is_count
from metastore.domain.names import fold
from metastore.encoding.redaction import REDACTED
from thrift_idl.gen.hive_metastore.ttypes import Table

# Parameters of Hive (StatsSetupConst) and Spark that describe the rows and not the table.
_STATISTICS: Final = frozenset(
    ("STATS_GENERATED", "STATS_GENERATED_VIA_STATS_TASK", "DO_NOT_UPDATE_STATS", "transient_lastDdlTime")
)
_SET_BY_SERVER: Final = (
    "catName",
    "dbName",
    "tableName",
    "parameters",
    "privileges",
    "createTime",
    "lastAccessTime",
    "colStats",
    "writeId",
    "id",
)


def changes_only_statistics(old: Table, new: Table) -> bool:
    """Returns whether two versions of a table differ only in statistics. Unset fields of `new` are not compared,
    because engines send incomplete tables; if only statistics differ, they are set to the stored values.
    """
    if _rest(old.parameters or {}) != _rest({**(new.parameters or {}), **_redacted(old, new)}):
        return False
    names = [name for name in new.__slots__ if name not in _SET_BY_SERVER]
    if (fold(new.dbName), fold(new.tableName)) != (old.dbName, old.tableName):
        return False
    if not all(_agrees(getattr(old, name), getattr(new, name)) for name in names):
        return False
    for name in names:
        setattr(new, name, getattr(old, name))
    return True


def _rest(parameters: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in parameters.items() if not is_statistic(name)}


def is_statistic(parameter: str) -> bool:
    """Returns whether a parameter of a table describes its rows."""
    return parameter in _STATISTICS or is_count(parameter)


def _redacted(old: Table, new: Table) -> dict[str, str]:
    """Returns the stored values of the secrets that the caller sends back redacted."""
    sent, stored = new.parameters or {}, old.parameters or {}
    return {name: stored[name] for name, value in sent.items() if value == REDACTED and name in stored}


def _agrees(old: Any, new: Any) -> bool:
    if new is None or new == old or (not new and not old):
        return True
    if isinstance(new, list) and isinstance(old, list):
        return len(new) == len(old) and all(map(_agrees, old, new))
    if type(new) is type(old) and hasattr(new, "__slots__"):
        return all(_agrees(getattr(old, name), getattr(new, name)) for name in new.__slots__)
    return False
