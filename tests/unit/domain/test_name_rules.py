"""Rules about names: patterns, denies, and the columns that a caller may see."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.name_rules import (
    DENY,
    NamePattern,
    NameRule,
    is_pattern,
    parse_pattern,
    parse_stored,
    stored_scope,
)
from metastore.domain.privileges import (
    Administrators,
    Admins,
    CallerGrants,
    Duty,
    PrincipalKind,
    Right,
    Securable,
    may_grant,
    rights,
    sees,
    sees_all_of,
    withheld_rights,
)
from metastore.errors import InvalidObjectError

TABLE = Securable("hive", "sales", 1, "home", PrincipalKind.USER, 2, "public_orders", "owner")
DATABASE = Securable("hive", "sales", 1, "home", PrincipalKind.USER)
PRIVILEGES = st.sampled_from(["SELECT", "INSERT+", "CREATE", "DROP", "ALL", "ALL+", "ALTER", "."])
DENIED = st.sampled_from(["SELECT", "INSERT", "DELETE", "ALTER", "DROP", "ALL"])
SCOPES = st.sampled_from(["sales.*", "sales.public_*", "*.*_orders", "sales.public_orders", "@*#*.*"])


def rule(scope: str, privilege: str) -> NameRule:
    return NameRule(parse_pattern(scope), privilege)


@pytest.mark.parametrize(
    ("scope", "parts"),
    [
        ("sales.public_*", ("hive", "sales", "public_*")),
        ("Sales.Orders", ("hive", "sales", "orders")),
        ("@spark#*.tmp", ("spark", "*", "tmp")),
    ],
)
def test_patterns_are_read_and_written(scope: str, parts: tuple[str, ...]) -> None:
    pattern = parse_pattern(scope)
    assert pattern == parts
    assert parse_pattern(stored_scope(pattern)) == pattern
    assert is_pattern(stored_scope(pattern))


@pytest.mark.parametrize(
    "scope",
    ["", "sales", "*", "sales.", ".t", "sales.[a]", "a b.t", "sales.*.c", "s.t.*", "s.t.c", "@hive", "@c#x", "s.t?"],
)
def test_malformed_patterns_are_rejected(scope: str) -> None:
    with pytest.raises(InvalidObjectError):
        parse_pattern(scope)


@pytest.mark.parametrize("scope", ["hive", "s3a://bucket/a.b", "file:/a.b", ""])
def test_catalogs_and_locations_are_no_patterns(scope: str) -> None:
    assert not is_pattern(scope)


def test_a_pattern_of_all_tables_includes_the_database() -> None:
    assert parse_pattern("sales.*").matches("hive", "sales", None)
    assert not parse_pattern("sales.public_*").matches("hive", "sales", None)
    assert not parse_pattern("sales.*").matches("spark", "sales", "t")


def test_a_rule_grants_on_matching_names() -> None:
    bob = CallerGrants("bob", rules=(rule("sales.public_*", "SELECT"),))
    assert rights(bob, TABLE) == {"SELECT"}
    assert not sees(bob, TABLE._replace(name="secret"))
    assert not sees(bob, DATABASE)
    assert not sees_all_of(bob, DATABASE)


@given(
    st.lists(PRIVILEGES),
    st.lists(PRIVILEGES),
    st.sets(st.tuples(SCOPES, PRIVILEGES.filter(str.isalpha))),
    st.sets(st.tuples(SCOPES, DENIED)),
    st.sampled_from(["bob", "owner", "home"]),
    st.sets(st.sampled_from(Duty)),
)
def test_a_deny_always_wins(
    granted: list[str],
    above: list[str],
    allowed: set[tuple[str, str]],
    denied: set[tuple[str, str]],
    user: str,
    duties: set[Duty],
) -> None:
    rules = [rule(*each) for each in allowed] + [rule(scope, DENY + privilege) for scope, privilege in denied]
    grants = CallerGrants(user, rules=tuple(rules), everywhere=frozenset(above), duties=frozenset(duties))
    held = rights(grants, TABLE._replace(granted=granted))
    names = {privilege for _, privilege in denied}  # each scope includes the table
    assert held.isdisjoint(names)
    if "ALL" in names:
        assert not held
        assert sees(grants, TABLE._replace(granted=granted)) == (Duty.SECURITY in duties)
    without = CallerGrants(user, rules=tuple(rules[: len(allowed)]), everywhere=frozenset(above))
    assert held <= rights(without, TABLE._replace(granted=granted))


@given(st.sets(SCOPES, min_size=1))
def test_no_deny_applies_to_administrators_of_everything(scopes: set[str]) -> None:
    rules = tuple(rule(scope, "DENY ALL") for scope in scopes)
    root = CallerGrants("root", is_admin=True, rules=rules)
    assert rights(root, TABLE) == rights(CallerGrants("root", is_admin=True), TABLE)


def test_a_denied_database_is_hidden_although_it_contains_a_granted_object() -> None:
    bob = CallerGrants("bob", rules=(rule("sales.*", "DENY ALL"),))
    assert not sees(bob, DATABASE._replace(within=True))


def test_owners_cannot_grant_rights_that_are_denied_to_them() -> None:
    owner = CallerGrants("owner", rules=(rule("sales.*", "DENY SELECT"),))
    assert not may_grant(owner, TABLE, ["SELECT"])
    assert may_grant(owner, TABLE, ["INSERT"])


def test_a_privilege_on_a_column_shows_the_table_and_allows_nothing() -> None:
    bob = CallerGrants("bob")
    assert sees(bob, TABLE._replace(granted=["."]))
    assert rights(bob, TABLE._replace(granted=["."])).isdisjoint(map(str, Right))


@pytest.mark.parametrize(
    ("scope", "stored"),
    [
        ("sales.public_*", (NamePattern("hive", "sales", "public_*"), "")),
        ("sales.orders.Net.Amount", (NamePattern("hive", "sales", "orders"), "Net.Amount")),
        ("@spark#a.b.c", (NamePattern("spark", "a", "b"), "c")),
    ],
)
def test_stored_rules_on_columns_are_rules_on_their_table(scope: str, stored: tuple[NamePattern, str]) -> None:
    assert parse_stored(scope) == stored


def test_duties_are_separate() -> None:
    admins = Administrators(Admins.parsed("root"), Admins.parsed("sam,@officers"), Admins.parsed("dana"))
    assert admins.duties("sam", []) == admins.duties("x", ["officers"]) == {Duty.SECURITY}
    assert admins.duties("dana", []) == {Duty.DATA}
    assert admins.duties("root", []) == set()
    sam = CallerGrants("sam", duties=frozenset([Duty.SECURITY]))
    assert sees(sam, TABLE)
    assert not rights(sam, TABLE)


def test_patterns_are_tuples_of_names() -> None:
    assert NamePattern("hive", "a", "b").matches("hive", "a", "b")


def test_rights_withheld_from_everybody_are_asked_for_by_name() -> None:
    """A deny to everybody does not make its target less of an owner; a deny to the caller does."""
    of_all = NameRule(parse_pattern("sales.*"), f"{DENY}SELECT", is_public=True)
    own = NameRule(parse_pattern("sales.public_orders"), f"{DENY}ALTER")
    grants = CallerGrants("owner", rules=(of_all, own))
    assert withheld_rights(grants, TABLE) == {"ALTER"}
    assert withheld_rights(grants, TABLE, of_everybody=True) == {"ALTER", "SELECT"}
    assert withheld_rights(grants, DATABASE) == {"ALTER"}  # it denies a right in the database
