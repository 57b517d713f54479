"""Rows in PostgreSQL's binary format."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from metastore.app import Application
from metastore.encoded import EncodedTexts
from metastore.storage.binary import binary_row
from metastore.storage.faults import translate


def test_a_row_is_read_as_it_is(application: Application) -> None:
    with application._store._engine.connect() as connection:
        row = binary_row(connection, "SELECT %(given)s, NULL, ''::text, int8send(-1)", {"given": b"%s\0\xff" * 100_000})
    assert row == [b"%s\0\xff" * 100_000, None, b"", b"\xff" * 8]


def test_what_postgresql_refuses_is_told_as_elsewhere(application: Application) -> None:
    with application._store._engine.connect() as connection:
        with pytest.raises(DBAPIError) as raised:
            binary_row(connection, "SELECT 'a' ~ %(pattern)s", {"pattern": "("})
        assert "Invalid pattern" in str(translate(raised.value))
        assert connection.execute(text("SELECT 1")).scalar_one() == 1


def test_a_lost_connection_is_replaced(application: Application) -> None:
    with application._store._engine.connect() as connection:
        with pytest.raises(DBAPIError) as raised:
            binary_row(connection, "SELECT pg_terminate_backend(pg_backend_pid())", {})
        assert raised.value.connection_invalidated
        assert binary_row(connection, "SELECT ''", {}) == [b""]


def test_texts_are_thrifts() -> None:
    encoded = EncodedTexts(2, b"\0\0\0\2\xc3\xa9\0\0\0\0")
    assert encoded.decode() == ["é", ""]
    assert b"".join(encoded.chunks()) == b"\x0b\0\0\0\2" + encoded.data
