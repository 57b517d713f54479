"""Hive's Java client 2.3.10: functions, statistics, constraints and other objects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.java import Hive, refused
from tests.wire.builders import unique

KEYS = (("ds", "string"),)


@pytest.fixture
def events(hive: Hive, java_client: Any, database: str) -> str:
    """A table with two partitions."""
    java_client.createTable(hive.table(database, "events", *KEYS))
    java_client.add_partitions([hive.partition(database, "events", day) for day in ("x", "y")])
    return "events"


def statistics(hive: Hive, database: str, table: str, partition: str | None, low: int, high: int) -> Any:
    """Returns statistics of the column a."""
    longs = hive.api.LongColumnStatsData(1, 5)
    longs.setLowValue(low)
    longs.setHighValue(high)
    described = hive.api.ColumnStatisticsDesc(partition is None, database, table)
    if partition is not None:
        described.setPartName(partition)
    data = hive.api.ColumnStatisticsData.longStats(longs)
    return hive.api.ColumnStatistics(described, [hive.api.ColumnStatisticsObj("a", "int", data)])


def test_statistics(hive: Hive, java_client: Any, database: str, events: str) -> None:
    java_client.updateTableColumnStatistics(statistics(hive, database, events, None, 1, 9))
    (actual,) = java_client.getTableColumnStatistics(database, events, ["a", "x"])
    assert (actual.getColName(), actual.getStatsData().getLongStats().getHighValue()) == ("a", 9)
    java_client.updatePartitionColumnStatistics(statistics(hive, database, events, "ds=x", 1, 4))
    many = hive.api.SetPartitionsStatsRequest([statistics(hive, database, events, "ds=y", 3, 7)])
    assert java_client.setPartitionColumnStatistics(many)
    by_name = java_client.getPartitionColumnStatistics(database, events, ["ds=x", "ds=y", "ds=z"], ["a"])
    assert sorted(by_name) == ["ds=x", "ds=y"]
    together = java_client.getAggrColStatsFor(database, events, ["a"], ["ds=x", "ds=y"])
    (total,) = [col_stat.getStatsData().getLongStats() for col_stat in together.getColStats()]
    assert (together.getPartsFound(), total.getLowValue(), total.getHighValue(), total.getNumNulls()) == (2, 1, 7, 2)
    assert java_client.deletePartitionColumnStatistics(database, events, "ds=x", "a")
    assert java_client.deleteTableColumnStatistics(database, events, "a")
    assert list(java_client.getTableColumnStatistics(database, events, ["a"])) == []


def test_functions(hive: Hive, java_client: Any, database: str) -> None:
    kind, owner = hive.api.FunctionType.JAVA, hive.api.PrincipalType.USER
    jar = hive.api.ResourceUri(hive.api.ResourceType.JAR, "hdfs:///f.jar")
    function = hive.api.Function("Shout", database, "org.example.Shout", "me", owner, 0, kind, [jar])
    java_client.createFunction(function)
    with refused("AlreadyExistsException", "shout"):
        java_client.createFunction(function)
    actual_function = java_client.getFunction(database, "SHOUT")
    assert (actual_function.getFunctionName(), actual_function.getClassName()) == ("shout", "org.example.Shout")
    assert [each.getUri() for each in actual_function.getResourceUris()] == ["hdfs:///f.jar"]
    actual_function.setClassName("org.example.Louder")
    java_client.alterFunction(database, "shout", actual_function)
    assert list(java_client.getFunctions(database, "sh*")) == ["shout"]
    everywhere = java_client.getAllFunctions().getFunctions()
    assert [each.getClassName() for each in everywhere if each.getDbName() == database] == ["org.example.Louder"]
    java_client.dropFunction(database, "shout")
    with refused("NoSuchObjectException", "shout does not exist"):
        java_client.getFunction(database, "shout")
    with refused("NoSuchObjectException"):
        java_client.dropFunction(database, "shout")


def test_constraints(hive: Hive, java_client: Any, database: str) -> None:
    key = hive.api.SQLPrimaryKey(database, "parent", "a", 1, "pk", False, False, True)
    java_client.createTableWithConstraints(hive.table(database, "parent"), [key], [])
    java_client.createTable(hive.table(database, "child"))
    with refused("TApplicationException", "nope"):
        java_client.addPrimaryKey([hive.api.SQLPrimaryKey(database, "child", "nope", 1, "bad", False, False, True)])
    (actual,) = java_client.getPrimaryKeys(hive.api.PrimaryKeysRequest(database, "parent"))
    assert (actual.getColumn_name(), actual.getPk_name(), actual.isRely_cstr()) == ("a", "pk", True)
    names = (database, "parent", "a", database, "child", "a")
    foreign = hive.api.SQLForeignKey(*names, 1, 0, 0, "fk", "pk", False, False, True)
    java_client.addForeignKey([foreign])
    (linked,) = java_client.getForeignKeys(hive.api.ForeignKeysRequest(database, "parent", database, "child"))
    assert (linked.getFk_name(), linked.getPktable_name(), linked.getFkcolumn_name()) == ("fk", "parent", "a")
    java_client.dropConstraint(database, "child", "fk")
    assert not java_client.getForeignKeys(hive.api.ForeignKeysRequest(None, None, database, "child"))
    with refused("TApplicationException", "fk"):
        java_client.dropConstraint(database, "child", "fk")


def test_roles(hive: Hive, java_client: Any) -> None:
    name, user = unique("role"), hive.api.PrincipalType.USER
    assert java_client.create_role(hive.api.Role(name, 0, "me"))
    with refused("MetaException", name):
        java_client.create_role(hive.api.Role(name, 0, "me"))
    assert name in list(java_client.listRoleNames())
    assert java_client.grant_role(name, "ann", user, "me", user, True)
    assert name in [role.getRoleName() for role in java_client.list_roles("ann", user)]
    members = java_client.get_principals_in_role(hive.api.GetPrincipalsInRoleRequest(name)).getPrincipalGrants()
    assert [(member.getPrincipalName(), member.isGrantOption()) for member in members] == [("ann", True)]
    grants = java_client.get_role_grants_for_principal(hive.api.GetRoleGrantsForPrincipalRequest("ann", user))
    assert name in [principal_grant.getRoleName() for principal_grant in grants.getPrincipalGrants()]
    assert java_client.revoke_role(name, "ann", user, False)
    assert name not in [role.getRoleName() for role in java_client.list_roles("ann", user)]
    assert java_client.drop_role(name)
    assert name not in list(java_client.listRoleNames())
    with refused("MetaException", name):
        java_client.grant_role(name, "ann", user, "me", user, False)


def test_privileges(hive: Hive, java_client: Any, database: str, events: str) -> None:
    user = hive.api.PrincipalType.USER
    what = hive.api.HiveObjectRef(hive.api.HiveObjectType.TABLE, database, events, None, None)
    granted = hive.api.PrivilegeGrantInfo("SELECT", 0, "me", user, True)
    bag = hive.api.PrivilegeBag([hive.api.HiveObjectPrivilege(what, "ann", user, granted)])
    assert java_client.grant_privileges(bag)
    (actual,) = java_client.list_privileges("ann", user, what)
    assert (actual.getGrantInfo().getPrivilege(), actual.getGrantInfo().isGrantOption()) == ("SELECT", True)
    allowed = java_client.get_privilege_set(what, "ann", [])
    assert [user_privilege.getPrivilege() for user_privilege in allowed.getUserPrivileges()["ann"]] == ["SELECT"]
    assert java_client.revoke_privileges(bag, False)
    assert list(java_client.list_privileges("ann", user, what)) == []


def test_tokens_and_keys(java_client: Any) -> None:
    name = unique("token")
    assert java_client.addToken(name, "secret")
    assert java_client.getToken(name) == "secret"
    assert name in list(java_client.getAllTokenIdentifiers())
    assert java_client.removeToken(name)
    number = java_client.addMasterKey("a key")
    java_client.updateMasterKey(number, "another key")
    assert "another key" in list(java_client.getMasterKeys())
    assert java_client.removeMasterKey(number)
    with refused("MetaException"):
        java_client.getDelegationToken("me", "me")


def test_notifications(hive: Hive, java_client: Any, database: str) -> None:
    before = java_client.getCurrentNotificationEventId().getEventId()
    java_client.createTable(hive.table(database, "noticed"))
    inserted = hive.api.InsertEventRequestData(["file:/a/b"])
    request = hive.api.FireEventRequest(True, hive.api.FireEventRequestData.insertData(inserted))
    request.setDbName(database)
    request.setTableName("noticed")
    java_client.fireListenerEvent(request)
    java_client.dropTable(database, "noticed")
    actual = [
        event
        for event in java_client.getNextNotification(before, 1000, None).getEvents()
        if event.getDbName() == database
    ]
    assert [each.getEventType() for each in actual] == ["CREATE_TABLE", "INSERT", "DROP_TABLE"]
    assert [each.getTableName() for each in actual] == ["noticed"] * 3
    assert len({each.getEventId() for each in actual}) == 3
