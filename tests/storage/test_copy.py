"""Rows in PostgreSQL's binary COPY format."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from metastore.app.worker import Application
from metastore.encoding.binary import EncodedTexts, Joined
from metastore.storage.postgres.copy import binary_row, binary_rows, column_slices, integer_rows, texts
from metastore.storage.postgres.exceptions import translate
from metastore.storage.postgres.sql import Sql


def test_a_row_is_read_as_it_is(application: Application) -> None:
    with application._store._engine.connect() as connection:
        row = binary_row(connection, Sql("SELECT %s, NULL, ''::text, int8send(-1)", (b"%s\0\xff" * 100_000,)))
    assert row == [b"%s\0\xff" * 100_000, None, b"", b"\xff" * 8]


def test_errors_of_postgresql_are_translated(application: Application) -> None:
    with application._store._engine.connect() as connection:
        with pytest.raises(DBAPIError) as raised:
            binary_row(connection, Sql("SELECT 'a' ~ %s", ("(",)))
        assert "Invalid pattern" in str(translate(raised.value))
        assert connection.execute(text("SELECT 1")).scalar_one() == 1


def test_a_lost_connection_is_replaced(application: Application) -> None:
    with application._store._engine.connect() as connection:
        with pytest.raises(DBAPIError) as raised:
            binary_row(connection, Sql("SELECT pg_terminate_backend(pg_backend_pid())"))
        assert raised.value.connection_invalidated
        assert binary_row(connection, Sql("SELECT ''")) == [b""]


def test_columns_of_fixed_sizes_are_found_without_looking_at_the_row(application: Application) -> None:
    query = "SELECT n::bigint, n::int, repeat('x', n) FROM generate_series(0, 3) AS n"
    with application._store._engine.connect() as connection:
        rows = binary_rows(connection, Sql(query))
    bigint, integer, rest = column_slices(8, 4)
    assert (
        [int.from_bytes(row[bigint]) for row in rows] == [int.from_bytes(row[integer]) for row in rows] == [0, 1, 2, 3]
    )
    assert [row[rest] for row in rows] == [b"", b"x", b"xx", b"xxx"]


def test_packed_integers_are_rows(application: Application) -> None:
    query = "SELECT string_agg(int8send(n) || int8send(-n), '' ORDER BY n) FROM generate_series(1, {}) AS n"
    with application._store._engine.connect() as connection:
        packed = [binary_row(connection, Sql(query.format(count)))[0] for count in (0, 2)]
    assert [integer_rows(each, 2) for each in packed] == [[], [(1, -1), (2, -2)]]


def test_pieces_of_joined_bytes_are_a_sequence() -> None:
    joined = Joined(b"abcdef", [1, 0, 3, 2])
    assert list(joined) == [b"a", b"", b"bcd", b"ef"] == joined[:]
    assert (joined[-1], joined[1:3], joined[4:], len(joined)) == (b"ef", [b"", b"bcd"], [], 4)
    with pytest.raises(IndexError):
        joined[4]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        ("ARRAY(SELECT name FROM partitions)", []),
        ("NULL::text[]", []),
        ("ARRAY['é', '', 'a\nb']", ["é", "", "a\nb"]),
        (
            "ARRAY(SELECT ARRAY[n::text, 'x'] FROM generate_series(1, 300) AS n)",
            [e for n in range(300) for e in (str(n + 1), "x")],
        ),
    ],
)
def test_arrays_of_texts_are_thrifts_lists(application: Application, array: str, expected: list[str]) -> None:
    with application._store._engine.connect() as connection:
        (actual,) = binary_row(connection, Sql(f"SELECT {array}"))
    assert texts(actual).decode() == expected
    assert texts(actual).count == len(expected)


def test_texts_are_thrifts() -> None:
    encoded = EncodedTexts(2, b"\0\0\0\2\xc3\xa9\0\0\0\0")
    assert encoded.decode() == ["é", ""]
    assert b"".join(encoded.chunks()) == b"\x0b\0\0\0\2" + encoded.data
