"""What who may only insert may change of a table: its statistics, which clients write after their rows."""

from __future__ import annotations

from typing import Any, Final

from metastore.domain.column_statistics import is_count
from metastore.domain.names import fold
from metastore.encoding.redaction import REDACTED
from thrift_idl.gen.hive_metastore.ttypes import Table

# Of Hive (StatsSetupConst) and of Spark, which describe the rows and not the table.
_STATISTICS: Final = frozenset(
    ("STATS_GENERATED", "STATS_GENERATED_VIA_STATS_TASK", "DO_NOT_UPDATE_STATS", "transient_lastDdlTime")
)
_SET_BY_US: Final = (
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
    """Tells whether a table that is sent differs in statistics alone from what is there. The unset is not compared, and
    is then set to what is there: engines send tables that lack some of it.
    """
    if _rest(old.parameters or {}) != _rest({**(new.parameters or {}), **_unseen(old, new)}):
        return False
    names = [name for name in new.__slots__ if name not in _SET_BY_US]
    if (fold(new.dbName), fold(new.tableName)) != (old.dbName, old.tableName):
        return False
    if not all(_agrees(getattr(old, name), getattr(new, name)) for name in names):
        return False
    for name in names:
        setattr(new, name, getattr(old, name))
    return True


def _rest(parameters: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in parameters.items() if name not in _STATISTICS and not is_count(name)}


def _unseen(old: Table, new: Table) -> dict[str, str]:
    """Returns the secrets that the caller has not seen, and leaves as they are."""
    sent, there = new.parameters or {}, old.parameters or {}
    return {name: there[name] for name, value in sent.items() if value == REDACTED and name in there}


def _agrees(old: Any, new: Any) -> bool:
    if new is None or new == old or (not new and not old):
        return True
    if isinstance(new, list) and isinstance(old, list):
        return len(new) == len(old) and all(map(_agrees, old, new))
    if type(new) is type(old) and hasattr(new, "__slots__"):
        return all(_agrees(getattr(old, name), getattr(new, name)) for name in new.__slots__)
    return False
