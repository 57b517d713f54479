"""Error messages for users."""

import pytest

from metastore.errors import ConnectionLostError, NotFoundError
from metastore.protocol.exceptions import text_of, undeclared


def test_one_line_of_bounded_length() -> None:
    assert text_of(NotFoundError("a\nforged line\r\n")) == "a forged line"
    told = text_of(NotFoundError(f"table {'t' * 3_000_000} is not there: make it"))
    assert told.startswith("table ttt")
    assert told.endswith("is not there: make it")
    assert len(told) < 10_000


@pytest.mark.parametrize(
    "address", ['at "db.internal" (10.0.0.7), port 5432', 'at "10.0.0.7", port 5432', 'on socket "/run/.s.PGSQL.5432"']
)
def test_only_the_log_shows_the_address_of_postgresql(address: str) -> None:
    error = ConnectionLostError(
        f"The connection to PostgreSQL was lost: connection to server {address} failed: refused"
    )
    assert undeclared(error).message == "The connection to PostgreSQL was lost: refused"
    assert address in text_of(error)
