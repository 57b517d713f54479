"""Privileges of users by grants and ownership."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.names import TableName
from metastore.domain.privileges import (
    Admins,
    CallerGrants,
    PrincipalKind,
    Right,
    Securable,
    denied,
    expanded,
    grantable,
    inherited,
    may_grant,
    rights,
    sees,
)

TABLE = Securable("hive", "sales", 1, "home", PrincipalKind.USER, 2, "orders", "owner")
DATABASE = Securable("hive", "sales", 1, "home", PrincipalKind.USER)
SELECT = frozenset(["SELECT"])
PRIVILEGES = st.sampled_from(["SELECT", "INSERT+", "CREATE", "DROP", "ALL", "ALL+", "LOCATION", "LOCK", "."])


def test_nothing_is_seen_without_a_grant() -> None:
    stranger = CallerGrants("stranger")
    assert not sees(stranger, TABLE)
    assert not sees(stranger, DATABASE)
    assert sees(stranger, DATABASE._replace(within=True))
    assert rights(stranger, DATABASE._replace(within=True)) == set()


def test_rights_equal_the_grants_on_a_table() -> None:
    assert rights(CallerGrants("bob"), TABLE._replace(granted=["SELECT", "INSERT+"])) == {"SELECT", "INSERT"}


def test_a_privilege_on_a_part_shows_the_table() -> None:
    actual = TABLE._replace(granted=["."])
    assert sees(CallerGrants("bob"), actual)
    assert not rights(CallerGrants("bob"), actual) & set(Right)


@pytest.mark.parametrize(
    "above",
    [
        {"everywhere": frozenset(["SELECT"])},
        {"catalogs": {"hive": frozenset(["SELECT"])}},
        {"databases": {1: frozenset(["SELECT"])}},
    ],
)
def test_rights_above_hold_below(above: dict[str, object]) -> None:
    assert rights(CallerGrants("bob", **above), TABLE) == {"SELECT"}  # type: ignore[arg-type] # one of three
    assert rights(CallerGrants("bob", **above), DATABASE) == {"SELECT"}  # type: ignore[arg-type]


def test_rights_elsewhere_do_not() -> None:
    elsewhere = CallerGrants("bob", catalogs={"other": frozenset(["ALL"])}, databases={7: frozenset(["ALL"])})
    assert rights(elsewhere, TABLE) == set()


def test_create_is_about_one_object() -> None:
    creator = CallerGrants("bob", databases={1: frozenset(["CREATE"])})
    assert rights(creator, DATABASE) == {"CREATE"}
    assert not sees(creator, TABLE)
    assert not sees(CallerGrants("bob", everywhere=frozenset(["CREATE"])), DATABASE)


@pytest.mark.parametrize(
    ("standing", "on_table", "on_database"),
    [
        (CallerGrants("owner"), True, False),
        (CallerGrants("home"), True, True),
        (CallerGrants("root", is_admin=True), True, True),
        (CallerGrants("bob", groups=frozenset(["owner"]), roles=frozenset(["home"])), False, False),
    ],
)
def test_owners_have_all(standing: CallerGrants, on_table: bool, on_database: bool) -> None:
    assert (Right.OWNERSHIP in rights(standing, TABLE)) is on_table
    assert (Right.OWNERSHIP in rights(standing, DATABASE)) is on_database
    assert Right.LOCATION not in rights(standing, TABLE)


def test_a_role_and_a_group_may_own() -> None:
    owned = TABLE._replace(owner_kind=PrincipalKind.ROLE)
    assert Right.DROP in rights(CallerGrants("bob", roles=frozenset(["owner"])), owned)
    assert not sees(CallerGrants("owner"), owned)


def test_ownership_by_public_allows_new_tables_only() -> None:
    database = Securable("hive", "sales", 1, "public", PrincipalKind.ROLE)
    assert rights(CallerGrants("bob"), database) == {"CREATE"}
    assert not sees(CallerGrants("bob"), database._replace(table_id=2, owner="alice"))


def test_granting_on_needs_the_option() -> None:
    actual = TABLE._replace(granted=["SELECT", "INSERT+"])
    bob = CallerGrants("bob")
    assert may_grant(bob, actual, ["insert"])
    assert not may_grant(bob, actual, ["select"])
    assert not may_grant(bob, actual, ["INSERT", "SELECT"])
    assert not may_grant(bob, TABLE._replace(granted=["ALL+"]), ["LOCATION"])
    assert may_grant(bob, TABLE._replace(granted=["ALL+"]), ["ALL"])
    assert not may_grant(CallerGrants("bob", everywhere=frozenset(["ALL+"])), None, ["SELECT"])
    assert may_grant(CallerGrants("owner"), TABLE, ["ALL"])


@given(st.sets(PRIVILEGES))
def test_nothing_is_granted_on_that_one_does_not_have(privileges: set[str]) -> None:
    assert grantable(privileges) <= expanded(privileges)
    assert inherited(privileges) <= privileges
    assert Right.OWNERSHIP not in expanded(privileges)


@pytest.mark.parametrize(
    ("user", "groups", "is_admin"),
    [
        ("ann", [], True),
        ("bob", ["ops"], True),
        ("ops", [], False),
        ("@ops", [], False),
        (None, [], False),
        ("", [], False),
    ],
)
def test_administrators_are_named(user: str | None, groups: list[str], is_admin: bool) -> None:
    assert Admins.parsed(" ann, @ops ,,").include(user, groups) is is_admin


def test_refusals_are_in_hives_words() -> None:
    text = "Permission denied: user [bob] does not have [DROP] privilege on [sales/orders]"
    assert denied("bob", Right.DROP, TableName("hive", "sales", "orders")) == text
