"""Snapshots: which transactions and written tables a reader sees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.transactions import Snapshot, WriteId, bit_set, parse_snapshot, parse_write_ids, visible_writes
from metastore.errors import InvalidInputError

ids = st.integers(1, 12)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[WriteId], Snapshot, frozenset[int]]:
    """Generates the write ids of a table, a snapshot, and transactions whose write ids are deleted."""
    writers = draw(st.lists(ids, unique=True, max_size=8))
    opened, aborted = draw(st.frozensets(ids)), draw(st.frozensets(ids))
    snapshot = Snapshot(draw(st.integers(0, 14)), opened - aborted, aborted)
    seen = [writer for writer in writers if snapshot.sees(writer)]
    forgotten = draw(st.frozensets(st.sampled_from(seen))) if seen else frozenset()
    return [WriteId(writer, number) for number, writer in enumerate(writers, 1)], snapshot, forgotten


@given(histories())
def test_a_reader_sees_a_write_if_and_only_if_it_sees_its_transaction(
    history: tuple[list[WriteId], Snapshot, frozenset[int]],
) -> None:
    writes, snapshot, forgotten = history
    known = [write for write in writes if write.transaction not in forgotten]
    actual_visible_writes = visible_writes(snapshot, known, len(writes))
    for write in writes:
        visible = (
            write.number <= actual_visible_writes.high_water_mark and write.number not in actual_visible_writes.invalid
        )
        assert visible == snapshot.sees(write.transaction)
    by_number = {write.number: write.transaction for write in writes}
    assert actual_visible_writes.invalid == sorted(actual_visible_writes.invalid)
    assert [actual_visible_writes.invalid[location] for location in actual_visible_writes.aborted_at] == [
        number for number in actual_visible_writes.invalid if by_number[number] in snapshot.aborted
    ]
    still_open = [number for number in actual_visible_writes.invalid if by_number[number] not in snapshot.aborted]
    assert actual_visible_writes.min_open == min(still_open, default=None)


def test_visible_writes_stay_visible_after_an_aborted_write() -> None:
    snapshot = Snapshot(10, frozenset(), frozenset({3}))
    assert visible_writes(snapshot, [WriteId(3, 1)], 7) == (7, [1], [0], None)


def test_nothing_was_written() -> None:
    assert visible_writes(Snapshot(5, frozenset(), frozenset()), [], 0) == (0, [], [], None)


@given(st.frozensets(st.integers(0, 200)))
def test_bits_are_where_java_looks_for_them(places: frozenset[int]) -> None:
    encoded = bit_set(places)
    assert {location for location in range(len(encoded) * 8) if encoded[location // 8] >> (location % 8) & 1} == places
    assert not encoded.endswith(b"\0")


@pytest.mark.parametrize(
    ("text", "snapshot"),
    [
        ("10:9223372036854775807::", Snapshot(10, frozenset(), frozenset())),
        ("10:9223372036854775807", Snapshot(10, frozenset(), frozenset())),
        ("10:3:3,7", Snapshot(10, frozenset({3, 7}), frozenset())),
        ("10:3:3:4,5", Snapshot(10, frozenset({3}), frozenset({4, 5}))),
    ],
)
def test_snapshots_as_hive_writes_them(text: str, snapshot: Snapshot) -> None:
    assert parse_snapshot(text) == snapshot


def test_no_snapshot_hides_nothing() -> None:
    assert parse_snapshot("").sees(2**62)


def test_write_ids_as_hive_writes_them() -> None:
    assert parse_write_ids("db.t:10:4:4:9,2") == (10, [2, 9])


@pytest.mark.parametrize("text", ["x", "1:2:a", ":", "1:2:3:4.5", "9" * 5000])
def test_malformed_snapshots_are_rejected(text: str) -> None:
    with pytest.raises(InvalidInputError, match="is not a list of valid"):
        parse_snapshot(text)


@pytest.mark.parametrize("text", ["", "t", "db.t", ":1:2", "db.t:x"])
def test_malformed_write_id_lists_are_rejected(text: str) -> None:
    with pytest.raises(InvalidInputError, match="is not a list of valid"):
        parse_write_ids(text)


def test_a_writer_sees_itself_and_nothing_later() -> None:
    own = Snapshot(9, frozenset({4, 6}), frozenset()).of(6)
    assert (own.sees(6), own.sees(5), own.sees(4), own.sees(7)) == (True, True, False, False)
