"""Which locations may be registered: by their text, and by links on the local disk."""

from pathlib import Path

import pytest

from metastore.errors import InvalidInputError, InvalidOperationError
from metastore.warehouse.roots import Roots


@pytest.mark.parametrize("managed", [True, False])
@pytest.mark.parametrize("text", ["{0}/.metastore_trash", "local:{0}/db/../.metastore_trash/7/ds=1", "{0}/link/7"])
def test_no_location_is_in_the_trash(tmp_path: Path, text: str, managed: bool) -> None:
    (tmp_path / "link").symlink_to(tmp_path / ".metastore_trash")
    with pytest.raises(InvalidInputError, match=r"is in \.metastore_trash"):
        Roots(str(tmp_path)).admit(text.format(tmp_path), managed=managed)


def test_the_trash_of_other_roots_is_reserved_and_nothing_else() -> None:
    roots = Roots("/warehouse", ["s3://bucket/data"])
    with pytest.raises(InvalidInputError, match="is in"):
        roots.admit("s3a://bucket/data/.metastore_trash/1", managed=True)
    beside = "s3a://bucket/data/db/.metastore_trash"
    assert roots.admit(beside, managed=True) == beside


def test_each_bucket_is_a_root_where_the_root_names_none(tmp_path: Path) -> None:
    roots = Roots(str(tmp_path), ["s3:/", "s3://named/deep"])
    assert roots.root_of("s3a://bucket/db/t") == "s3://bucket/"
    assert roots.root_of("s3://named/deep/t") == "s3://named/deep"
    with pytest.raises(InvalidInputError, match="where the server keeps dropped data"):
        roots.admit("s3a://bucket/.metastore_trash/t", managed=False)
    with pytest.raises(InvalidOperationError, match="it is the root of a file system"):
        roots.root_of("s3://bucket/")


def test_a_location_that_contains_a_root_or_is_one_is_not_deletable() -> None:
    """A delete of it would take the other root along. Locations outside of all roots are not deletable either."""
    roots = Roots("/warehouse", ["/warehouse/db/other", "s3://bucket/data"])
    kept = {"/warehouse", "/warehouse/db", "/warehouse/db/other", "s3a://bucket/data", "s3://bucket", "/else/where"}
    deletable = {
        "/warehouse/db/t": "file:/warehouse",
        "/warehouse/db/other/t": "file:/warehouse/db/other",
        "s3a://bucket/data/t": "s3://bucket/data",
    }
    assert roots.deletable([*kept, *deletable]) == deletable
    for location in kept:
        with pytest.raises(InvalidOperationError):
            roots.require_below(location)
