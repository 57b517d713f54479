"""Privileges: stored and returned, as in a Hive metastore without an authorizer."""

from __future__ import annotations

import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fixtures.server import Server, connected
from tests.wire.builders import new_database, new_table, partition, table, unique
from thrift_idl.gen.hive_metastore.ttypes import (
    GrantRevokePrivilegeRequest,
    GrantRevokeType,
    HiveObjectPrivilege,
    HiveObjectRef,
    HiveObjectType,
    MetaException,
    PrincipalPrivilegeSet,
    PrincipalType,
    PrivilegeBag,
    PrivilegeGrantInfo,
    Role,
)

USER, ROLE, GROUP = PrincipalType.USER, PrincipalType.ROLE, PrincipalType.GROUP
GLOBAL, DATABASE, TABLE = HiveObjectType.GLOBAL, HiveObjectType.DATABASE, HiveObjectType.TABLE
PARTITION, COLUMN = HiveObjectType.PARTITION, HiveObjectType.COLUMN


def privilege(
    ref: HiveObjectRef, name: str | None, principal: str | None = "bob", kind: int | None = USER, **info: Any
) -> HiveObjectPrivilege:
    given = {"grantor": "boss", "grantorType": USER, "grantOption": False, "createTime": 0} | info
    return HiveObjectPrivilege(ref, principal, kind, PrivilegeGrantInfo(name, **given), "SQL")


def grant(client: Any, *privileges: HiveObjectPrivilege) -> bool:
    return bool(client.grant_privileges(PrivilegeBag(list(privileges))))


def revoke(client: Any, *privileges: HiveObjectPrivilege) -> bool:
    return bool(client.revoke_privileges(PrivilegeBag(list(privileges))))


def listed(client: Any, ref: HiveObjectRef, principal: str | None = None, kind: int | None = None) -> list[str]:
    return [each.grantInfo.privilege for each in client.list_privileges(principal, kind, ref)]


@pytest.fixture
def refs(hive_client: Any) -> dict[str, HiveObjectRef]:
    """Returns a reference to each kind of object; all exist."""
    database, name = new_table(hive_client, [("ds", "string"), ("n", "int")])
    hive_client.add_partition(partition(database, name, ["a", "1"]))
    return {
        "database": HiveObjectRef(DATABASE, database),
        "table": HiveObjectRef(TABLE, database, name),
        "column": HiveObjectRef(COLUMN, database, name, None, "a"),
        "partition": HiveObjectRef(PARTITION, database, name, ["a", "1"]),
        "partition column": HiveObjectRef(COLUMN, database, name, ["a", "1"], "x"),
    }


@pytest.mark.parametrize("kind", ["database", "table", "column", "partition", "partition column"])
def test_a_privilege_is_kept_on_every_kind_of_object(
    hive_client: Any, refs: dict[str, HiveObjectRef], kind: str
) -> None:
    ref = refs[kind]
    assert grant(hive_client, privilege(ref, "SELECT", grantOption=True)) is True
    (actual,) = hive_client.list_privileges("bob", USER, ref)
    assert actual.grantInfo.createTime > 0
    assert actual.hiveObject.catName == "hive"
    actual.hiveObject.catName, actual.grantInfo.createTime = None, 0
    ref.partValues = ref.partValues or None
    assert actual == privilege(ref, "SELECT", grantOption=True)
    for other, reference in refs.items():
        assert listed(hive_client, reference) == (["SELECT"] if other == kind else [])
    assert revoke(hive_client, privilege(ref, "SELECT")) is True
    assert listed(hive_client, ref) == []


def test_without_a_principal_its_kind_does_not_count(hive_client: Any, refs: dict[str, HiveObjectRef]) -> None:
    assert grant(hive_client, privilege(refs["table"], "SELECT"), privilege(refs["table"], "ALTER", "public", ROLE))
    assert sorted(listed(hive_client, refs["table"], None, USER)) == ["ALTER", "SELECT"]


def test_a_privilege_on_the_whole_metastore(hive_client: Any) -> None:
    user = unique("user")
    assert grant(hive_client, privilege(HiveObjectRef(GLOBAL), "CREATE", user))
    assert listed(hive_client, HiveObjectRef(GLOBAL), user, USER) == ["CREATE"]
    (admin,) = hive_client.list_privileges("admin", ROLE, HiveObjectRef(GLOBAL))
    assert (admin.grantInfo.privilege, admin.grantInfo.grantOption, admin.authorizer) == ("All", True, "SQL")
    privileges = hive_client.get_privilege_set(HiveObjectRef(GLOBAL), user, ["g"])
    assert [user_privilege.privilege for user_privilege in privileges.userPrivileges[user]] == ["CREATE"]
    assert privileges.rolePrivileges is None


def test_several_at_once_in_any_case_and_with_a_catalog(hive_client: Any, refs: dict[str, HiveObjectRef]) -> None:
    ref = refs["table"]
    loud = HiveObjectRef(TABLE, f"@hive#{ref.dbName.upper()}", ref.objectName.upper())
    assert grant(hive_client, privilege(loud, "SELECT, insert,"), privilege(ref, "DELETE", "eve"))
    assert listed(hive_client, ref) == ["SELECT", "insert", "DELETE"]
    assert listed(hive_client, loud, "bob", USER) == ["SELECT", "insert"]
    assert grant(hive_client) is True
    assert hive_client.grant_privileges(PrivilegeBag(None)) is True


def test_all_or_nothing_is_granted(hive_client: Any, refs: dict[str, HiveObjectRef]) -> None:
    ref = refs["table"]
    grant(hive_client, privilege(ref, "SELECT"))
    with pytest.raises(MetaException, match="SELECT is already granted by boss"):
        grant(hive_client, privilege(ref, "SELECT"))
    with pytest.raises(MetaException, match="already granted by boss or one of 1 more"):
        grant(hive_client, privilege(ref, "INSERT"), privilege(ref, "SELECT"))
    assert listed(hive_client, ref) == ["SELECT"]
    assert grant(hive_client, privilege(ref, "SELECT", grantor="other"))
    assert listed(hive_client, ref) == ["SELECT", "SELECT"]


def test_a_grantor_revokes_his_own_grant_first(hive_client: Any, refs: dict[str, HiveObjectRef]) -> None:
    ref = refs["table"]
    grant(hive_client, privilege(ref, "SELECT", grantor="one"), privilege(ref, "SELECT", grantor="two"))
    revoke(hive_client, privilege(ref, "SELECT", grantor="two"))
    assert [each.grantInfo.grantor for each in hive_client.list_privileges("bob", USER, ref)] == ["one"]
    revoke(hive_client, privilege(ref, "SELECT", grantor="whoever"))
    assert listed(hive_client, ref) == []


def test_only_the_right_to_grant_is_revoked(hive_client: Any, refs: dict[str, HiveObjectRef]) -> None:
    ref = refs["database"]
    bag = PrivilegeBag([privilege(ref, "ALL", grantOption=True)])
    assert hive_client.grant_revoke_privileges(GrantRevokePrivilegeRequest(GrantRevokeType.GRANT, bag)).success
    request = GrantRevokePrivilegeRequest(GrantRevokeType.REVOKE, bag, True)
    assert hive_client.grant_revoke_privileges(request).success
    assert [each.grantInfo.grantOption for each in hive_client.list_privileges("bob", USER, ref)] == [False]
    with pytest.raises(MetaException, match="User bob does not have grant option with privilege ALL"):
        hive_client.grant_revoke_privileges(request)


def test_privileges_that_were_not_granted_are_not_revoked(hive_client: Any, refs: dict[str, HiveObjectRef]) -> None:
    grant(hive_client, privilege(refs["table"], "SELECT"))
    with pytest.raises(MetaException, match=r"No grant \(INSERT\) of bob found"):
        revoke(hive_client, privilege(refs["table"], "SELECT"), privilege(refs["table"], "INSERT"))
    assert listed(hive_client, refs["table"]) == ["SELECT"]


def test_missing_objects_and_meaningless_grants_are_rejected(hive_client: Any, refs: dict[str, HiveObjectRef]) -> None:
    database, name = refs["table"].dbName, refs["table"].objectName
    for ref, text in (
        (HiveObjectRef(DATABASE, "nope"), "nope not found"),
        (HiveObjectRef(TABLE, database, "nope"), f"{database}.nope not found"),
        (HiveObjectRef(PARTITION, database, name, ["z", "9"]), "not found"),
        (HiveObjectRef(PARTITION, database, name, ["z"]), "Invalid partition key & values"),
        (HiveObjectRef(PARTITION, database, name), "needs the partition's values"),
        (HiveObjectRef(COLUMN, database, name), "needs the column's name"),
        (HiveObjectRef(None, database, name), "cannot be stored for objects of type None"),
        (HiveObjectRef(HiveObjectType.DATACONNECTOR, "x"), "cannot be stored for objects of type 6"),
        (HiveObjectRef(DATABASE, "x" * 10_000), "not found"),
        (HiveObjectRef(DATABASE, "a\0b"), "NUL"),
    ):
        with pytest.raises(MetaException, match=text):
            grant(hive_client, privilege(ref, "SELECT"))
    for bad in (
        privilege(refs["table"], "SELECT", None),
        privilege(refs["table"], "SELECT", "bob", None),
        privilege(refs["table"], None),
        privilege(refs["table"], " , "),
        privilege(refs["table"], "SELECT", "nope", ROLE),
        privilege(refs["table"], "SELECT", secrets.token_hex(5_000)),
        HiveObjectPrivilege(refs["table"], "bob", USER, None),
        HiveObjectPrivilege(None, "bob", USER, PrivilegeGrantInfo("SELECT")),
    ):
        with pytest.raises(MetaException):
            grant(hive_client, bad)
    assert listed(hive_client, refs["table"]) == []


def test_thousands_of_privileges_are_granted_and_revoked_in_one_call(
    hive_client: Any, refs: dict[str, HiveObjectRef]
) -> None:
    many = [privilege(refs["table"], "SELECT", f"user{number}") for number in range(3000)]
    assert grant(hive_client, *many)
    assert len(listed(hive_client, refs["table"])) == 3000
    assert revoke(hive_client, *many)
    assert listed(hive_client, refs["table"]) == []


def test_lists_of_a_principal(hive_client: Any, refs: dict[str, HiveObjectRef]) -> None:
    user = unique("user")
    for number, ref in enumerate(refs.values()):
        grant(hive_client, privilege(ref, f"P{number}", user))
    everything = [f"P{number}" for number in range(len(refs))]
    assert listed(hive_client, HiveObjectRef(), user, USER) == everything
    assert listed(hive_client, HiveObjectRef(TABLE), user, USER) == ["P1"]
    assert listed(hive_client, HiveObjectRef(), user, ROLE) == []
    assert listed(hive_client, HiveObjectRef(TABLE, "nope", "nope"), user, USER) == []


def test_a_set_holds_all_requested_users(hive_client: Any, refs: dict[str, HiveObjectRef]) -> None:
    role, above, user = unique("role"), unique("role"), unique("user")
    for text in (role, above):
        hive_client.create_role(Role(text, 0, None))
    hive_client.grant_role(role, user, USER, None, None, False)
    hive_client.grant_role(above, role, ROLE, None, None, False)
    grant(hive_client, privilege(refs["table"], "SELECT", user), privilege(refs["table"], "INSERT", above, ROLE))
    privileges = hive_client.get_privilege_set(refs["table"], user, ["g"])
    assert [user_privilege.privilege for user_privilege in privileges.userPrivileges[user]] == ["SELECT"]
    assert privileges.groupPrivileges == {"g": []}
    assert {name: [info.privilege for info in infos] for name, infos in privileges.rolePrivileges.items()} == {
        role: [],
        above: ["INSERT"],
        "public": [],
    }
    assert hive_client.get_privilege_set(refs["table"], None, None) == PrincipalPrivilegeSet()
    with pytest.raises(MetaException, match="needs the type of an object"):
        hive_client.get_privilege_set(HiveObjectRef(), user, None)
    hive_client.drop_role(above)
    assert listed(hive_client, refs["table"]) == ["SELECT"]


def test_refreshing_makes_the_privileges_of_an_authorizer_these(
    hive_client: Any, refs: dict[str, HiveObjectRef]
) -> None:
    ref = refs["table"]
    other = privilege(ref, "SELECT", "ranger's")
    other.authorizer = "ranger"
    grant(hive_client, privilege(ref, "SELECT"), privilege(ref, "INSERT", "old"), other)
    before = hive_client.list_privileges("bob", USER, ref)
    bag = PrivilegeBag([privilege(ref, "SELECT"), privilege(ref, "DELETE", "new")])
    request = GrantRevokePrivilegeRequest(GrantRevokeType.GRANT, bag)
    assert hive_client.refresh_privileges(ref, "SQL", request).success is True
    after = [(each.principalName, each.grantInfo.privilege) for each in hive_client.list_privileges(None, None, ref)]
    assert sorted(after) == [("bob", "SELECT"), ("new", "DELETE"), ("ranger's", "SELECT")]
    assert hive_client.list_privileges("bob", USER, ref) == before
    columns = HiveObjectRef(COLUMN, ref.dbName, ref.objectName)
    bag = PrivilegeBag([privilege(refs["column"], "SELECT")])
    for _ in range(2):
        hive_client.refresh_privileges(columns, "SQL", GrantRevokePrivilegeRequest(GrantRevokeType.GRANT, bag))
        assert listed(hive_client, refs["column"]) == ["SELECT"]
    empty = GrantRevokePrivilegeRequest(GrantRevokeType.GRANT, PrivilegeBag([]))
    hive_client.refresh_privileges(columns, "SQL", empty)
    assert listed(hive_client, refs["column"]) == []


def test_a_table_brings_its_privileges(hive_client: Any) -> None:
    database = new_database(hive_client)
    info = PrivilegeGrantInfo("SELECT", 5, "bob", USER, True)
    given = PrincipalPrivilegeSet({"bob": [info, info]}, {"g": [PrivilegeGrantInfo("INSERT")]}, None)
    hive_client.create_table(table(database, "t", privileges=given))
    ref = HiveObjectRef(TABLE, database, "t")
    actual = {
        (each.principalName, each.principalType, each.grantInfo.privilege)
        for each in hive_client.list_privileges(None, None, ref)
    }
    assert actual == {("bob", USER, "SELECT"), ("g", GROUP, "INSERT")}
    assert hive_client.get_table(database, "t").privileges is None


def test_privileges_are_dropped_and_renamed_with_their_object(hive_client: Any, refs: dict[str, HiveObjectRef]) -> None:
    database, name, user = refs["table"].dbName, refs["table"].objectName, unique("user")
    grant(hive_client, *(privilege(ref, "SELECT", user) for ref in refs.values()))
    renamed = hive_client.get_table(database, name)
    renamed.tableName = "renamed"
    hive_client.alter_table(database, name, renamed)
    privileges = hive_client.list_privileges(user, USER, HiveObjectRef())
    assert [each.hiveObject.objectName for each in privileges] == [None] + ["renamed"] * 4
    hive_client.drop_partition(database, "renamed", ["a", "1"], True)
    assert len(hive_client.list_privileges(user, USER, HiveObjectRef())) == 3
    hive_client.drop_table(database, "renamed", True)
    assert len(hive_client.list_privileges(user, USER, HiveObjectRef())) == 1
    hive_client.drop_database(database, True, True)
    assert hive_client.list_privileges(user, USER, HiveObjectRef()) == []


def test_one_of_many_grants_the_same(metastore_server: Server, refs: dict[str, HiveObjectRef]) -> None:
    barrier = threading.Barrier(6)

    def attempt(_: int) -> bool:
        with connected(metastore_server) as client:
            barrier.wait()
            try:
                return grant(client, privilege(refs["table"], "SELECT"), privilege(refs["database"], "ALL"))
            except MetaException:
                return False

    with ThreadPoolExecutor(6) as threads:
        assert sorted(threads.map(attempt, range(6))) == [False] * 5 + [True]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.booleans(),
            st.sampled_from("ab"),
            st.sampled_from(["SELECT", "INSERT"]),
            st.sampled_from([None, "g", "h"]),
        ),
        max_size=15,
    )
)
def test_grants_and_revocations_use_the_whole_set(
    hive_client: Any, steps: list[tuple[bool, str, str, str | None]]
) -> None:
    """Compared with a model: granting an existing privilege fails; revoking removes the grantor's own, else the oldest
    one.
    """
    ref = HiveObjectRef(DATABASE, new_database(hive_client))
    model: list[tuple[str, str, str | None]] = []
    for granting, principal, name, grantor in steps:
        one = privilege(ref, name, principal, grantor=grantor)
        same = [row for row in model if row[:2] == (principal, name)]
        fails = (principal, name, grantor) in model if granting else not same
        if fails:
            with pytest.raises(MetaException):
                (grant if granting else revoke)(hive_client, one)
        elif granting:
            assert grant(hive_client, one)
            model.append((principal, name, grantor))
        else:
            assert revoke(hive_client, one)
            model.remove(next((row for row in same if row[2] == grantor), same[0]))
    privileges = hive_client.list_privileges(None, None, ref)
    assert [(each.principalName, each.grantInfo.privilege, each.grantInfo.grantor) for each in privileges] == model
