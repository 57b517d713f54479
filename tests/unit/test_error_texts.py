"""Error messages for users."""

from metastore.errors import NotFoundError
from metastore.protocol.exceptions import text_of


def test_one_line_of_bounded_length() -> None:
    assert text_of(NotFoundError("a\nforged line\r\n")) == "a forged line"
    told = text_of(NotFoundError(f"table {'t' * 3_000_000} is not there: make it"))
    assert told.startswith("table ttt")
    assert told.endswith("is not there: make it")
    assert len(told) < 10_000
