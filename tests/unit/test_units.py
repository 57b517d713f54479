"""Sizes and durations as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.settings.units import parse_duration, parse_size, show_duration, show_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("1048576", 2**20),
        ("400MiB", 400 * 2**20),
        ("400 MB", 400 * 2**20),
        ("400M", 400 * 2**20),
        ("400Mi", 400 * 2**20),
        ("64k", 2**16),
        ("1.5GiB", 3 * 2**29),
        (" 2TiB ", 2**41),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 30),
        ("0.5", 0.5),
        (".5", 0.5),
        ("500ms", 0.5),
        ("30s", 30),
        ("5m", 300),
        ("5 minutes", 300),
        ("1h 30min", 5400),
        ("1h30m", 5400),
        ("7d", 604_800),
        ("2w", 1_209_600),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", " ", "MiB", "-1MiB", "1XiB", "1MiB 2", "nan", "1e3", "0x10", "½k"])
def test_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(text)


@pytest.mark.parametrize("text", ["", " ", "s", "-1s", "1 year", "1s2", "nan", "inf", "1e3", "5mins of"])
def test_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@given(st.integers(0, 2**63))
def test_a_shown_size_is_read_back(size: int) -> None:
    assert parse_size(show_size(size)) == size


@given(st.one_of(st.integers(0, 10**10).map(float), st.integers(0, 10**6).map(lambda ms: ms / 1000)))
def test_a_shown_duration_is_read_back(seconds: float) -> None:
    assert parse_duration(show_duration(seconds)) == pytest.approx(seconds, abs=1e-9)
