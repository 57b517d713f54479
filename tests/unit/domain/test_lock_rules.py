"""Which locks conflict: Hive's table, written out, and its consequences for any set of locks."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.lock_rules import Blocker, Component, ExistingLock, LockType, blocker, lower_case_columns

SR, SW, EX, EW = LockType.SHARED_READ, LockType.SHARED_WRITE, LockType.EXCLUSIVE, LockType.EXCL_WRITE
# For one object: (requested, held) → whether the request waits.
TABLE = {
    (SR, SR): False, (SR, SW): False, (SR, EW): False, (SR, EX): True,
    (SW, SR): False, (SW, SW): False, (SW, EW): True, (SW, EX): True,
    (EW, SR): False, (EW, SW): True, (EW, EW): True, (EW, EX): True,
    (EX, SR): True, (EX, SW): True, (EX, EW): True, (EX, EX): True,
}  # fmt: skip

types = st.sampled_from(LockType)
places = st.sampled_from(
    [
        ("hive", "a", None, None),
        ("hive", "a", "t", None),
        ("hive", "a", "t", "p=1"),
        ("hive", "a", "t", "p=2"),
        ("hive", "a", "u", None),
        ("hive", "b", "t", None),
        ("other", "a", "t", None),
    ]
)
components = st.builds(lambda kind, place: Component(kind, *place), types, places)
requests = st.lists(components, min_size=1, max_size=3)


def overlap(one: Component, other: Component) -> bool:
    return all(None in pair or len(set(pair)) == 1 for pair in zip(one[1:], other[1:], strict=True))


def waits(requested: Component, standing: Component) -> bool:
    """Applies the table to overlapping objects. A shared read of a database does not conflict with its tables."""
    keeps_database = {(requested.type, requested.table is None), (standing.type, standing.table is None)}
    if keeps_database == {(SR, True), (EX, False)}:
        return False
    return overlap(requested, standing) and TABLE[requested.type, standing.type]


def lock(number: int, *held: Component, transaction: int | None = None, granted: bool = True) -> ExistingLock:
    return ExistingLock(number, transaction, granted, held)


@pytest.mark.parametrize(("requested", "standing"), TABLE, ids=lambda kind: kind.name)
def test_the_table(requested: LockType, standing: LockType) -> None:
    asked = Component(requested, "hive", "a", "t")
    actual_blocker = blocker([asked], None, [lock(7, Component(standing, "hive", "a", "t"))])
    assert actual_blocker == (Blocker(7, 1, asked) if TABLE[requested, standing] else None)


@given(components, components)
def test_conflicts_equal_the_table(requested: Component, standing: Component) -> None:
    assert (blocker([requested], None, [lock(1, standing)]) is not None) == waits(requested, standing)


@given(
    requests,
    st.lists(st.tuples(requests, st.booleans(), st.sampled_from([None, 1, 2])), max_size=6),
    st.sampled_from([None, 1]),
)
def test_a_request_waits_for_the_earliest_that_is_in_its_way(
    requested: list[Component], others: list[tuple[list[Component], bool, int | None]], transaction: int | None
) -> None:
    standing = [
        lock(number, *held, transaction=owner, granted=granted) for number, (held, granted, owner) in enumerate(others)
    ]
    own = [
        standing_lock
        for standing_lock in standing
        if transaction is not None and standing_lock.transaction == transaction
    ]
    behind = [standing_lock for standing_lock in own if standing_lock.granted]
    for standing_lock in standing:
        if standing_lock not in own and not standing_lock.granted and meet(standing_lock, behind):
            behind.append(standing_lock)
    in_the_way = [
        standing_lock.id
        for standing_lock in standing
        if standing_lock not in own + behind and meet(lock(99, *requested), [standing_lock])
    ]
    actual_blocker = blocker(requested, transaction, standing)
    assert (actual_blocker.lock if actual_blocker else None) == min(in_the_way, default=None)


def meet(asking: ExistingLock, standing: list[ExistingLock]) -> bool:
    pairs = (
        (asked, held)
        for standing_lock in standing
        for asked, held in product(asking.components, standing_lock.components)
    )
    return any(waits(asked, held) for asked, held in pairs)


@given(st.lists(st.tuples(requests, st.integers(1, 3)), max_size=8))
def test_granted_locks_never_conflict_and_every_request_gets_a_turn(asked: list[tuple[list[Component], int]]) -> None:
    """Three transactions request locks, get those that are free, and end in the order of their requests."""
    standing: list[ExistingLock] = []
    for number, (requested, transaction) in enumerate(asked):
        waiting = blocker(requested, transaction, standing)
        standing.append(lock(number, *requested, transaction=transaction, granted=waiting is None))
    while standing:
        for location, standing_lock in enumerate(standing):
            if not standing_lock.granted:
                others = [other for other in standing if other.granted or other.id < standing_lock.id]
                if blocker(standing_lock.components, standing_lock.transaction, others) is None:
                    standing[location] = lock(
                        standing_lock.id, *standing_lock.components, transaction=standing_lock.transaction
                    )
        for one, other in product(standing, standing):
            if one.granted and other.granted and one.transaction != other.transaction:
                assert not (meet(one, [other]) and one.id > other.id)
        # A transaction with all its locks ends; if there is none, a deadlocked one does.
        done = {standing_lock.transaction for standing_lock in standing} - {
            standing_lock.transaction for standing_lock in standing if not standing_lock.granted
        }
        ended = done or {standing[0].transaction}
        standing = [standing_lock for standing_lock in standing if standing_lock.transaction not in ended]


def test_a_transaction_does_not_wait_for_transactions_that_wait_for_it() -> None:
    held = lock(1, Component(SR, "hive", "a", "t"), transaction=5)
    waiting = lock(2, Component(EX, "hive", "a", "t"), Component(EX, "hive", "a", "u"), transaction=6, granted=False)
    behind_it = lock(3, Component(EX, "hive", "a", "u"), transaction=7, granted=False)
    more = [Component(EX, "hive", "a", "u"), Component(EX, "hive", "a", "t")]
    assert blocker(more, 5, [held, waiting, behind_it]) is None
    assert blocker(more, None, [held, waiting, behind_it]) == Blocker(1, 1, more[1])


def test_thousands_of_partitions_against_thousands_of_locks_are_quick() -> None:
    standing = [lock(n, Component(SR, "hive", "a", "t", f"p={n}")) for n in range(5_000)]
    wanted = [Component(SW, "hive", "a", "t", f"p={n}") for n in range(5_000)]
    assert blocker(wanted, None, standing) is None
    assert blocker([*wanted, Component(EX, "hive", "a", "t", "p=4999")], None, standing) is not None


@pytest.mark.parametrize(
    ("name", "folded"),
    [(None, None), ("", None), ("DS=A/H=B", "ds=A/h=B"), ("x", "x"), ("K=", "k="), ("a=b=C", "a=b=C"), ("/", "/")],
)
def test_columns_of_a_partition_are_folded_and_values_are_not(name: str | None, folded: str | None) -> None:
    assert lower_case_columns(name) == folded
