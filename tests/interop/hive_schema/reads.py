"""Reads a whole catalog through Thrift, as plain values that can be compared."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from thrift.protocol.TBase import TExceptionBase
from thrift.Thrift import TException

from tests.contract.scenarios.statistics import COLUMNS
from thrift_idl.gen.hive_metastore.ttypes import (
    ForeignKeysRequest,
    GetTableRequest,
    HiveObjectRef,
    NotificationEventRequest,
    PartitionsStatsRequest,
    PrimaryKeysRequest,
    PrincipalType,
    TableStatsRequest,
)

FILTERS = {
    "big": (
        "ds = '2026-03'",
        "ds > '2026-10'",
        "ds = '2026-01' or ds = '2026-02'",
        "n = 7",
        "n < 90 and ds = '2026-05'",
    ),
    "dated": (
        "d = 2026-01-02",
        "d = '2026-01-02'",
        "d > 2026-01-20 and h < 2",
        "h = 1 or h = 2",
        "h <> 1 and s = 'a/1'",
    ),
}
"""By table. Hive takes LIKE for a pattern of Java."""
UNORDERED = {"get_all_tables", "get_tables", "get_table_meta", "get_role_names", "get_functions"}


def everything(client: Any) -> dict[str, Any]:
    """Returns the replies by label. An exception is its type."""
    actual: dict[str, Any] = {}
    for label, method, arguments in _calls(client):
        try:
            answer = getattr(client, method)(*arguments)
            actual[label] = plain(sorted(answer, key=repr) if method in UNORDERED else answer)
        except (TException, TExceptionBase) as error:
            actual[label] = type(error).__name__
    return actual


def _calls(client: Any) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    yield from _one("get_all_databases")
    yield from _one("get_role_names")
    yield from _one("get_current_notificationEventId")
    yield from _one("get_next_notification", NotificationEventRequest(0, 100_000))
    for user in ("bob", "ann"):
        yield from _one("list_roles", user, PrincipalType.USER)
        yield from _one("list_privileges", user, PrincipalType.USER, HiveObjectRef(None, None, None, [], None))
    yield from _one("get_databases", "s*")
    functions = client.get_all_functions().functions or []
    for database in client.get_all_databases():
        yield from _one("get_database", database)
        yield from _one("get_all_tables", database)
        yield from _one("get_tables", database, "p*_1*|stats")
        yield from _one("get_functions", database, "*")
        yield from _one("get_table_meta", database, "*", [])
        for function in functions:
            if function.dbName == database:
                yield from _one("get_function", database, function.functionName)
        for name in client.get_all_tables(database):
            yield from _of_table(client, database, name)


def _of_table(client: Any, database: str, name: str) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    for method in ("get_table", "get_fields", "get_schema"):
        yield from _one(method, database, name)
    yield f"get_table_req({database}, {name})", "get_table_req", (GetTableRequest(database, name),)
    yield from _one("get_indexes", database, name, -1)
    yield from _one("get_primary_keys", PrimaryKeysRequest(database, name))
    yield from _one("get_foreign_keys", ForeignKeysRequest(None, None, database, name))
    columns = [column.name for column in COLUMNS]
    if "stats" in name:
        yield from _one("get_table_statistics_req", TableStatsRequest(database, name, columns))
    if not client.get_table_req(GetTableRequest(database, name)).table.partitionKeys:
        return
    names = client.get_partition_names(database, name, -1)
    yield from _one("get_partition_names", database, name, -1)
    yield from _one("get_partitions", database, name, -1)
    yield from _one("get_partitions_by_names", database, name, names[:50])
    yield from _one("get_partition_by_name", database, name, names[-1])
    if "stats" in name:
        yield from _one("get_partitions_statistics_req", PartitionsStatsRequest(database, name, columns, names))
        yield from _one("get_aggr_stats_for", PartitionsStatsRequest(database, name, columns, names[:2]))
    for text in FILTERS.get(name, ()):
        yield from _one("get_partitions_by_filter", database, name, text, -1)


def _one(method: str, *arguments: Any) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    shown = ", ".join(each if isinstance(each, str) else type(each).__name__ for each in arguments)
    yield f"{method}({shown})", method, arguments


def plain(value: Any) -> Any:
    """Structs as dictionaries of their fields; lists of unordered structs sorted."""
    spec = getattr(value, "thrift_spec", None)
    if spec:
        return {field[2]: plain(getattr(value, field[2])) for field in spec if field}
    if isinstance(value, dict):
        return {key: plain(each) for key, each in sorted(value.items(), key=repr)}
    if isinstance(value, list | tuple | set | frozenset):
        plains = [plain(each) for each in value]
        return sorted(plains, key=itemgetter("colName")) if plains and _is_statistics(plains[0]) else plains
    return value


def _is_statistics(value: Any) -> bool:
    """Statistics of columns come in no order."""
    return isinstance(value, dict) and "colName" in value


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yields the path of each different value, with both values."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs}, key=repr):
            yield from differences(ours.get(key), theirs.get(key), f"{path}/{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(one, other, f"{path}/{number}")
    elif ours != theirs:
        yield path, ours, theirs
