"""The ids of registered writes: distinct from other ids, and recognized in file names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.query_ids import (
    CHARACTERS,
    LENGTH,
    holds,
    holds_token,
    is_hidden,
    is_registered_form,
    names_write,
    token_of,
)

TOKEN = "abcdefghijklmn27"
TOKENS = st.text(CHARACTERS, min_size=LENGTH, max_size=LENGTH)


@given(TOKENS, st.integers(1, 10**12))
def test_ids_are_distinguished_from_those_of_earlier_versions(token: str, number: int) -> None:
    assert is_registered_form(f"{token}-{number}")
    assert token_of(f"{token}-{number}") == token


@pytest.mark.parametrize(
    "other", ["", "query", "20260131_235959_00007_x7k2p", f"{TOKEN}-", f"{TOKEN}-1x", f"x{TOKEN}-1"]
)
def test_other_ids(other: str) -> None:
    assert not is_registered_form(other)
    assert token_of(other) is None


@given(
    TOKENS, st.integers(1, 10**6), st.integers(1, 10**6), st.sampled_from(["", "000003_0_", "part-0-", ".", "_temp_"])
)
def test_a_file_holds_one_id(token: str, number: int, other: int, before: str) -> None:
    name = f"{before}{token}-{number}.c000.parquet"
    assert holds(name, f"{token}-{number}")
    assert holds_token(name, token)
    assert holds(name, f"{token}-{other}") == (number == other)


def test_names_that_only_look_like_ids() -> None:
    assert not holds(f"part-0_{TOKEN}-12", f"{TOKEN}-1")
    assert not holds(f"x{TOKEN}-1", f"{TOKEN}-1")
    assert not holds_token(f"part-0_{TOKEN}-", TOKEN)
    assert names_write(f"file:/t/_versions/{TOKEN}-1/ds=1", f"{TOKEN}-1")
    assert not names_write(f"file:/t/_versions/{TOKEN}-10/ds=1", f"{TOKEN}-1")


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        (f"part-{TOKEN}-3.parquet", False),
        (f"{TOKEN}-4", True),
        (f"{TOKEN}-2_0", True),
        (f"000001_0_{TOKEN}-22", True),
        (f"{TOKEN}-1-{TOKEN}-4", True),
    ],
)
def test_open_and_later_writes_are_hidden(name: str, hidden: bool) -> None:
    assert is_hidden(name, TOKEN, 3, [2]) is hidden
    assert not is_hidden(name, None, None, [])
    assert is_hidden(name, TOKEN, None, []), "none is published"
    assert not is_hidden(name.replace(TOKEN, "other"), TOKEN, 3, [2])


def test_a_longer_number_than_a_write_has_is_ordinary_text() -> None:
    assert not is_hidden(f"{TOKEN}-1234567890123456789", TOKEN, 3, [])
