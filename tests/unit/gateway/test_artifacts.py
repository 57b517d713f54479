"""The names of uploads, read from raw messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_client.gateway.artifacts import rejected_name


def field(number: int, value: bytes) -> bytes:
    length, size = b"", len(value)
    while size > 0x7F:
        length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + value


def batch(*names: str) -> bytes:
    artifacts = [field(1, field(1, name.encode()) + field(2, field(1, b"data" * 100))) for name in names]
    return field(1, b"session") + field(3, b"".join(artifacts))


def first_chunk(name: str) -> bytes:
    """A chunked upload also has numbers, which are not names: total_bytes, num_chunks."""
    return field(1, b"session") + field(4, field(1, name.encode()) + b"\x10\xff\x01\x18\x02" + field(4, b""))


@pytest.mark.parametrize("name", ["cache/0123", "pyfiles/module.py", "files/data.csv"])
def test_data_and_python_modules_are_accepted(name: str) -> None:
    assert rejected_name(batch(name)) is None
    assert rejected_name(first_chunk(name)) is None


@pytest.mark.parametrize(
    "name",
    ["jars/a.jar", "classes/A.class", "archives/a.zip", "forward_to_fs/a", "cache/../jars/a.jar", "Jars/a", "/a", ""],
)
def test_other_uploads_are_rejected(name: str) -> None:
    assert rejected_name(batch("cache/1", name)) == name
    assert rejected_name(first_chunk(name)) == name


def test_every_name_of_a_message_counts() -> None:
    twice = field(3, field(1, field(1, b"cache/1") + field(1, b"jars/a.jar")))
    assert rejected_name(twice) == "jars/a.jar"
    assert rejected_name(batch("cache/1") + batch("jars/b.jar")) == "jars/b.jar"


def test_a_chunk_has_no_name() -> None:
    assert rejected_name(field(1, b"session") + field(5, field(1, b"jars/a.jar"))) is None


@given(st.binary(max_size=60))
def test_rubbish_is_a_value_error_or_harmless(message: bytes) -> None:
    try:
        name = rejected_name(message)
    except ValueError:
        return
    assert name is None or not name.startswith("jars/") or b"jars/" in message
