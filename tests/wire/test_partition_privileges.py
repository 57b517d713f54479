"""Privileges in partitions, if the table has PARTITION_LEVEL_PRIVILEGE."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.builders import new_table, partition
from thrift_idl.gen.hive_metastore.ttypes import (
    GetPartitionsPsWithAuthRequest,
    HiveObjectPrivilege,
    HiveObjectRef,
    HiveObjectType,
    Partition,
    PrincipalPrivilegeSet,
    PrincipalType,
    PrivilegeBag,
    PrivilegeGrantInfo,
)

KEYS = [("ds", "string")]
NOTHING = PrincipalPrivilegeSet({"bob": []}, {"staff": []}, {"public": []})


def with_privileges(client: Any, level: str) -> tuple[str, str]:
    """A table with two partitions; on the first, bob may SELECT."""
    database, name = new_table(client, KEYS, parameters={"PARTITION_LEVEL_PRIVILEGE": level})
    client.add_partitions([partition(database, name, [text]) for text in "ab"])
    ref = HiveObjectRef(HiveObjectType.PARTITION, database, name, ["a"])
    info = PrivilegeGrantInfo("SELECT", 0, "boss", PrincipalType.USER, False)
    client.grant_privileges(PrivilegeBag([HiveObjectPrivilege(ref, "bob", PrincipalType.USER, info)]))
    return database, name


def shown(client: Any, database: str, name: str, user: str | None, groups: list[str] | None) -> list[list[Partition]]:
    """Returns the answers of all methods that take a user."""
    request = GetPartitionsPsWithAuthRequest("hive", database, name, [""], -1, user, groups)
    named = GetPartitionsPsWithAuthRequest(
        "hive", database, name, userName=user, groupNames=groups, partNames=["ds=a", "ds=b"]
    )
    return [
        client.get_partitions_with_auth(database, name, -1, user, groups),
        client.get_partitions_ps_with_auth(database, name, [""], -1, user, groups),
        client.get_partitions_ps_with_auth_req(request).partitions,
        client.get_partitions_ps_with_auth_req(named).partitions,
        [client.get_partition_with_auth(database, name, [text], user, groups) for text in "ab"],
    ]


def test_users_see_their_rights(hive_client: Any) -> None:
    database, name = with_privileges(hive_client, "True")
    plain = hive_client.get_partitions(database, name, -1)
    assert [each.privileges for each in plain] == [None, None]
    for first, second in shown(hive_client, database, name, "bob", ["staff"]):
        (granted,) = first.privileges.userPrivileges["bob"]
        assert (granted.privilege, granted.grantor) == ("SELECT", "boss")
        assert second.privileges == NOTHING
        first.privileges = second.privileges = None
        assert [first, second] == plain


@pytest.mark.parametrize(("level", "user", "groups"), [("false", "bob", ["staff"]), ("TRUE", None, None)])
def test_others_see_partitions_alone(hive_client: Any, level: str, user: str | None, groups: list[str] | None) -> None:
    database, name = with_privileges(hive_client, level)
    plain = hive_client.get_partitions(database, name, -1)
    assert shown(hive_client, database, name, user, groups) == [plain] * 5
