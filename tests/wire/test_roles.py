"""Roles, as Hive and Trino grant them."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.fixtures.server import Server, connected
from tests.wire.builders import unique
from thrift_idl.gen.hive_metastore.ttypes import (
    GetPrincipalsInRoleRequest,
    GetRoleGrantsForPrincipalRequest,
    GrantRevokeRoleRequest,
    GrantRevokeType,
    MetaException,
    PrincipalType,
    Role,
    RolePrincipalGrant,
)

USER, ROLE, GROUP = PrincipalType.USER, PrincipalType.ROLE, PrincipalType.GROUP


@pytest.fixture
def new_role(hive_client: Any) -> Callable[[], str]:
    """Creates roles with unique names."""

    def make() -> str:
        name = unique("Role")
        assert hive_client.create_role(Role(name, 0, "me")) is True
        return name

    return make


def grants_to(client: Any, principal: str, kind: int) -> list[RolePrincipalGrant]:
    return list(client.get_role_grants_for_principal(GetRoleGrantsForPrincipalRequest(principal, kind)).principalGrants)


def members(client: Any, role: str) -> list[RolePrincipalGrant]:
    return list(client.get_principals_in_role(GetPrincipalsInRoleRequest(role)).principalGrants)


def test_every_metastore_has_two_roles(hive_client: Any) -> None:
    assert {"admin", "public"} <= set(hive_client.get_role_names())
    for name in ("admin", "public"):
        with pytest.raises(MetaException, match="public,admin roles can't be dropped"):
            hive_client.drop_role(name)
    with pytest.raises(MetaException, match="public role implicitly exists"):
        hive_client.create_role(Role("public", 0, "me"))


def test_a_role_is_made_listed_and_dropped(hive_client: Any, new_role: Callable[[], str]) -> None:
    name = new_role()
    names = hive_client.get_role_names()
    assert name in names
    assert names == sorted(names)
    with pytest.raises(MetaException, match=f"Role {name} already exists"):
        hive_client.create_role(Role(name, 0, "me"))
    assert hive_client.drop_role(name) is True
    assert name not in hive_client.get_role_names()
    assert hive_client.drop_role(name) is True  # as Hive answers


@pytest.mark.parametrize("role", [Role(None), Role(""), Role("a\0b"), Role(secrets.token_hex(5_000))])
def test_a_role_needs_a_name(hive_client: Any, role: Role) -> None:
    with pytest.raises(MetaException):
        hive_client.create_role(role)


def test_a_role_is_granted_and_revoked(hive_client: Any, new_role: Callable[[], str]) -> None:
    role, user = new_role(), unique("user")
    assert hive_client.grant_role(role, user, USER, "boss", USER, True) is True
    (grant,) = members(hive_client, role)
    assert grant.grantTime > 0
    grant.grantTime = 0
    assert grant == RolePrincipalGrant(role, user, USER, True, 0, "boss", USER)
    assert [each.roleName for each in hive_client.list_roles(user, USER)] == [role, "public"]
    assert [principal_grant.roleName for principal_grant in grants_to(hive_client, user, USER)] == [role, "public"]
    with pytest.raises(MetaException, match=f"Principal {user} already has the role {role}"):
        hive_client.grant_role(role, user, USER, "boss", USER, False)
    assert hive_client.revoke_role(role, user, USER) is True
    assert members(hive_client, role) == []
    assert hive_client.revoke_role(role, user, USER) is True  # as Hive answers


def test_only_the_right_to_grant_is_revoked(hive_client: Any, new_role: Callable[[], str]) -> None:
    role, user = new_role(), unique("user")
    grant = GrantRevokeRoleRequest(GrantRevokeType.GRANT, role, user, USER, "boss", USER, True)
    assert hive_client.grant_revoke_role(grant).success is True
    revoke = GrantRevokeRoleRequest(GrantRevokeType.REVOKE, role, user, USER, grantOption=True)
    assert hive_client.grant_revoke_role(revoke).success is True
    assert [member.grantOption for member in members(hive_client, role)] == [False]
    with pytest.raises(MetaException, match=f"User {user} does not have grant option with role {role}"):
        hive_client.grant_revoke_role(revoke)
    with pytest.raises(MetaException, match="Unknown request type"):
        hive_client.grant_revoke_role(GrantRevokeRoleRequest(None, role, user, USER))


def test_every_user_has_the_public_role_granted(hive_client: Any) -> None:
    with pytest.raises(MetaException, match="No user can be added to public"):
        hive_client.grant_role("public", "bob", USER, None, None, False)
    with pytest.raises(MetaException, match="public role can't be revoked"):
        hive_client.revoke_role("public", "bob", USER)
    nobody = unique("user")
    assert [role.roleName for role in hive_client.list_roles(nobody, USER)] == ["public"]
    assert hive_client.list_roles(nobody, GROUP) == []
    assert members(hive_client, "public") == []


def test_roles_have_roles_but_no_circles(hive_client: Any, new_role: Callable[[], str]) -> None:
    a, b, c = new_role(), new_role(), new_role()
    hive_client.grant_role(a, b, ROLE, None, None, False)
    hive_client.grant_role(b, c, ROLE, None, None, False)
    assert [each.roleName for each in hive_client.list_roles(c, ROLE)] == [b]
    for role, principal in ((c, a), (c, b), (a, a)):
        with pytest.raises(MetaException, match="no cycles allowed"):
            hive_client.grant_role(role, principal, ROLE, None, None, False)


def test_missing_objects_are_named(hive_client: Any, new_role: Callable[[], str]) -> None:
    role = new_role()
    with pytest.raises(MetaException, match="nope role can not be found"):
        hive_client.grant_role("nope", "bob", USER, None, None, False)
    with pytest.raises(MetaException, match="nope role can not be found"):
        hive_client.revoke_role("nope", "bob", USER)
    with pytest.raises(MetaException, match="Role nope does not exist"):
        hive_client.grant_role(role, "nope", ROLE, None, None, False)
    for principal, kind in ((None, USER), ("", USER), ("bob", None)):
        with pytest.raises(MetaException, match="set the name and the type of the principal"):
            hive_client.grant_role(role, principal, kind, None, None, False)


def test_a_dropped_role_belongs_to_no_user(hive_client: Any, new_role: Callable[[], str]) -> None:
    role, above, user = new_role(), new_role(), unique("user")
    hive_client.grant_role(role, user, USER, None, None, False)
    hive_client.grant_role(above, role, ROLE, None, None, False)
    hive_client.drop_role(role)
    assert [each.roleName for each in hive_client.list_roles(user, USER)] == ["public"]
    assert members(hive_client, above) == []


def test_concurrent_calls_cannot_form_a_cycle(metastore_server: Server, new_role: Callable[[], str]) -> None:
    """Each client grants the next role to the one before it: the last of them must fail."""
    roles = [new_role() for _ in range(4)]
    barrier = threading.Barrier(len(roles))

    def grant(position: int) -> bool:
        with connected(metastore_server) as client:
            barrier.wait()
            try:
                following = roles[(position + 1) % len(roles)]
                return bool(client.grant_role(following, roles[position], ROLE, None, None, False))
            except MetaException as error:
                return "no cycles allowed" not in error.message

    with ThreadPoolExecutor(len(roles)) as threads:
        assert sorted(threads.map(grant, range(len(roles)))) == [False, True, True, True]
