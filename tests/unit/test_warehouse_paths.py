"""Locations in Hive's notation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.errors import InvalidInputError
from metastore.warehouse import paths

ROOTS = st.sampled_from(["file:/w", "s3a://bucket/w", "hdfs://namenode:8020/w", "file:/", "local:///w"])
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1).filter(
    lambda text: text not in (".", "..")
)


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("/tmp/x", "file:/tmp/x"),
        ("/tmp//x/", "file:/tmp/x"),
        ("file:/tmp/x", "file:/tmp/x"),
        ("file:///tmp/x", "file:/tmp/x"),
        ("FILE:/tmp/x", "file:/tmp/x"),
        ("s3a://bucket", "s3a://bucket/"),
        ("s3a://bucket/a/../b", "s3a://bucket/b"),
        ("hdfs://nn:8020/user/a b%20/", "hdfs://nn:8020/user/a b%20"),
        ("/a=1/b=x:y", "file:/a=1/b=x:y"),
        ("//tmp", "file://tmp/"),
        ("local:///tmp//x/", "local:///tmp/x"),
        ("hdfs:/tmp", "hdfs:/tmp"),
    ],
)
def test_normalise(written: str, normal: str) -> None:
    assert paths.normalise(written) == normal


@pytest.mark.parametrize("written", ["", "relative", "a/b", "file:relative", "s3a:", "./x"])
def test_a_relative_location_is_rejected(written: str) -> None:
    with pytest.raises(InvalidInputError, match="is not absolute"):
        paths.normalise(written)


@pytest.mark.parametrize("root", ["/", "file:///", "s3a://bucket", "s3a://bucket/", "hdfs://nn:8020//", "/x/.."])
def test_roots_are_rejected(root: str) -> None:
    with pytest.raises(InvalidInputError, match="location must not be root path"):
        paths.require_not_root(root)


def test_default_locations() -> None:
    assert paths.database_location("/w", "default") == "file:/w"
    assert paths.database_location("s3a://b/w/", "sales") == "s3a://b/w/sales.db"
    assert paths.table_location("file:/w/sales.db", "Orders") == "file:/w/sales.db/orders"
    assert paths.partition_location("file:/w/t", "a=1/b=x%2Fy") == "file:/w/t/a=1/b=x%2Fy"


@given(ROOTS, st.lists(NAMES, min_size=1, max_size=4))
def test_joined_paths_are_below_their_root_and_split_into_the_same_names(root: str, names: list[str]) -> None:
    location = paths.join(root, *names)
    assert paths.normalise(location) == location
    assert paths.is_below(location, root)
    assert not paths.is_below(root, location)
    assert not paths.is_below(location, location)
    for name in reversed(names):
        assert paths.name(location) == name
        location = paths.parent(location)
    assert location == root


def test_one_place_has_several_spellings() -> None:
    assert paths.same("s3a://b/x", "s3://b/x/")
    assert paths.is_below("s3n://b/x/y", "s3a://b/x")
    assert not paths.is_below("s3a://b/xy", "s3a://b/x")
    assert not paths.is_below("s3a://c/x/y", "s3a://b/x")
    assert not paths.same("file:/x", "hdfs://x/x")
    assert paths.on_one_file_system("s3a://b/x", "s3n://b/y")
    assert not paths.on_one_file_system("s3a://b/x", "s3a://c/x")


def test_each_spelling_has_one_canonical_text() -> None:
    for location in ("s3a://b/x", "file:/x y", "hdfs://name:8020/x", "hdfs:///x", "memory://a/b/c"):
        spellings = paths.spellings(location)
        assert paths.normalise(location) in spellings
        assert {paths.canonical(spelling) for spelling in spellings} == {paths.canonical(location)}
    assert set(paths.spellings("s3://b/x")) == {"s3://b/x", "s3a://b/x", "s3n://b/x"}
    assert paths.canonical("/x//y/") == "file:/x/y"


def test_ancestors_end_at_the_root() -> None:
    assert paths.ancestors("s3a://b/x/y") == ["s3://b/x", "s3://b/"]
    assert paths.ancestors("file:/a/b/c") == ["file:/a/b", "file:/a", "file:/"]
    assert paths.ancestors("file:/") == []
