"""A metastore in memory, as the source of an import: a reply for each method, which tests make invalid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from tests.wire.builders import descriptor, partition, skewed, table
from thrift_idl.gen.hive_metastore import ttypes as hive

_USER: Final = hive.PrincipalType.USER


def replies() -> dict[str, Any]:
    """Returns the replies of a source with one object of each kind."""
    return _of_tables() | _of_statistics() | _of_constraints() | _of_access() | _of_logs()


def _of_tables() -> dict[str, Any]:
    skew = skewed(["a"], [["1"]])
    sd = descriptor("file:/w/sales.db/logs", skewedInfo=skew, bucketCols=["a"], sortCols=[hive.Order("a", 1)])
    logs = table("sales", "logs", [("ds", "string")], sd=sd, parameters={"transactional": "true"}, createTime=1)
    parts = [partition("sales", "logs", [day], sd=descriptor(f"file:/w/sales.db/logs/ds={day}")) for day in "12"]
    resource = hive.ResourceUri(hive.ResourceType.JAR, "file:/x.jar")
    function = hive.Function("f", "sales", "C", "o", _USER, 1, hive.FunctionType.JAVA, [resource])
    return {
        "get_catalogs": hive.GetCatalogsResponse(["hive"]),
        "get_catalog": hive.GetCatalogResponse(hive.Catalog("hive", "d", "file:/w", 1)),
        "get_all_databases": ["sales"],
        "get_database": hive.Database("sales", "d", "file:/w/sales.db", {}, None, "o", _USER, "hive", 1),
        "get_all_tables": ["logs"],
        "get_table_objects_by_name_req": hive.GetTablesResult([logs]),
        "get_partition_names": ["ds=1", "ds=2"],
        "get_partitions_by_names": parts,
        "get_all_functions": hive.GetAllFunctionsResponse([function]),
        "get_indexes": [hive.Index("i", "C", "sales", "logs", 1, 1, "logs", descriptor(), {}, False)],
    }


def _of_statistics() -> dict[str, Any]:
    column = hive.ColumnStatisticsObj(
        "a", "int", hive.ColumnStatisticsData(longStats=hive.LongColumnStatsData(1, 2, 0, 2))
    )
    statistics = hive.ColumnStatistics(hive.ColumnStatisticsDesc(True, "sales", "logs", None, 7, "hive"), [column])
    return {
        "get_table_statistics_req": hive.TableStatsResult([column]),
        "get_table_column_statistics": statistics,
        "get_partitions_statistics_req": hive.PartitionsStatsResult({"ds=1": [column]}),
        "get_partition_column_statistics": statistics,
        "get_config_value": "false",
    }


def _of_constraints() -> dict[str, Any]:
    primary = hive.SQLPrimaryKey("sales", "logs", "a", 1, "pk", True, True, True, "hive")
    columns = ("sales", "logs", "a", "sales", "logs", "a")
    foreign = hive.SQLForeignKey(*columns, 1, 1, 1, "fk", "pk", True, True, True, "hive")
    of = ("hive", "sales", "logs", "a")
    return {
        "get_primary_keys": hive.PrimaryKeysResponse([primary]),
        "get_foreign_keys": hive.ForeignKeysResponse([foreign]),
        "get_unique_constraints": hive.UniqueConstraintsResponse([hive.SQLUniqueConstraint(*of, 1, "uk")]),
        "get_not_null_constraints": hive.NotNullConstraintsResponse([hive.SQLNotNullConstraint(*of, "nn")]),
        "get_default_constraints": hive.DefaultConstraintsResponse([hive.SQLDefaultConstraint(*of, "1", "dc")]),
        "get_check_constraints": hive.CheckConstraintsResponse([hive.SQLCheckConstraint(*of, "a > 0", "cc")]),
    }


def _of_access() -> dict[str, Any]:
    target = hive.HiveObjectRef(hive.HiveObjectType.TABLE, "sales", "logs", None, None, "hive")
    info = hive.PrivilegeGrantInfo("SELECT", 1, "admin", _USER, False)
    member = hive.RolePrincipalGrant("analysts", "bob", _USER, False, 1, "admin", _USER)
    return {
        "get_role_names": ["analysts"],
        "list_roles": [hive.Role("analysts", 1, "admin")],
        "get_principals_in_role": hive.GetPrincipalsInRoleResponse([member]),
        "list_privileges": [hive.HiveObjectPrivilege(target, "bob", _USER, info, "SQL")],
        "get_master_keys": ["k"],
        "get_all_token_identifiers": ["t"],
        "get_token": "s",
    }


def _of_logs() -> dict[str, Any]:
    event = hive.NotificationEvent(1, 1, "CREATE_TABLE", "sales", "logs", '{"db": "sales"}', "json-0.2", "hive")
    opened = hive.TxnInfo(4, hive.TxnState.OPEN, "u", "h")
    return {
        "get_open_txns": hive.GetOpenTxnsResponse(9, [4], 4, b""),
        "get_open_txns_info": hive.GetOpenTxnsInfoResponse(9, [opened]),
        "get_valid_write_ids": hive.GetValidWriteIdsResponse([hive.TableValidWriteIds("sales.logs", 5, [3], 3, b"")]),
        "get_current_notificationEventId": hive.CurrentNotificationEventId(1),
        "get_next_notification": hive.NotificationEventResponse([event]),
    }


def without_each_field(value: Any, path: str = "") -> Iterator[tuple[str, Callable[[Any], None]]]:
    """Yields the path of each field of a reply that has a value, and a function that removes it from a copy."""
    for name, inner in _children(value):
        here = f"{path}.{name}"
        if hasattr(value, "thrift_spec"):
            yield here, lambda reply, where=here: _remove(reply, where)
        yield from without_each_field(inner, here)


def _children(value: Any) -> list[tuple[str, Any]]:
    """Returns the fields of a struct that have values, or the first element of a list or map."""
    if hasattr(value, "thrift_spec"):
        return [(name, inner) for name in value.__slots__ if (inner := getattr(value, name)) is not None]
    if isinstance(value, list):
        return [("0", one) for one in value[:1]]
    return list(value.items())[:1] if isinstance(value, dict) else []


def _remove(reply: Any, path: str) -> None:
    *steps, last = path.split(".")[1:]
    for step in steps:
        reply = dict(_children(reply))[step]
    setattr(reply, last, None)


class Serving:
    """The methods of the client of a source. `spoiled`: a method, and the change of its reply."""

    addresses = ()

    def __init__(self, spoiled: tuple[str, Callable[[Any], None]] | None = None) -> None:
        self.methods = self
        self._replies = replies()
        if spoiled:
            spoiled[1](self._replies[spoiled[0]])

    def __getattr__(self, name: str) -> Callable[..., Any]:
        reply = self._replies[name]
        if name == "get_partitions_by_names":
            return lambda _database, _table, names: [one for one in reply if f"ds={(one.values or '1')[0]}" in names]
        if name == "get_next_notification":
            return lambda request: hive.NotificationEventResponse([]) if request.lastEvent else reply
        return lambda *_: reply

    def check_reachable(self) -> None:
        pass

    def close(self) -> None:
        pass
