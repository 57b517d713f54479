"""Which locations may be registered: by their text, and by links on the local disk."""

from pathlib import Path

import pytest

from metastore.errors import InvalidInputError
from metastore.warehouse.roots import Roots


@pytest.mark.parametrize("managed", [True, False])
@pytest.mark.parametrize("text", ["{0}/.metastore_trash", "local:{0}/db/../.metastore_trash/7/ds=1", "{0}/link/7"])
def test_nothing_lies_where_the_server_keeps_what_was_dropped(tmp_path: Path, text: str, managed: bool) -> None:
    (tmp_path / "link").symlink_to(tmp_path / ".metastore_trash")
    with pytest.raises(InvalidInputError, match=r"is in \.metastore_trash"):
        Roots(str(tmp_path)).admit(text.format(tmp_path), managed=managed)


def test_that_holds_for_other_roots_too_and_for_nothing_beside_it() -> None:
    roots = Roots("/warehouse", ["s3://bucket/data"])
    with pytest.raises(InvalidInputError, match="is in"):
        roots.admit("s3a://bucket/data/.metastore_trash/1", managed=True)
    beside = "s3a://bucket/data/db/.metastore_trash"
    assert roots.admit(beside, managed=True) == beside
