"""The location of the rows of CREATE TABLE AS SELECT before the table gets its name."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from metastore.client.structs import Database, Storage, Table
from spark_client.context import Context
from spark_client.write.temporary_table import with_temporary_name

TABLE = Table("db", "t", (), (), None, Storage("", "", ""))


def context(home: str) -> Any:
    """Returns a context whose database has this location."""
    return Context(SimpleNamespace(), SimpleNamespace(get_database=lambda name: Database(name, home, {})))  # type: ignore[arg-type]


@pytest.mark.parametrize("home", ["file:/w/db.db", "hdfs://n:8020/w/db.db/"])
def test_files_move_with_the_name_if_renames_are_cheap(home: str) -> None:
    draft = with_temporary_name(context(home), TABLE)
    assert re.fullmatch(r"t__as_select_[0-9a-f]{8}", draft.name)
    assert draft.location is None


def test_on_object_stores_files_stay_in_a_directory_of_their_own() -> None:
    drafts = [with_temporary_name(context("s3a://bucket/db.db/"), TABLE) for _ in range(2)]
    assert all(re.fullmatch(r"s3a://bucket/db\.db/t_[0-9a-f]{8}", draft.location or "") for draft in drafts)
    assert drafts[0].location != drafts[1].location


def test_a_given_location_is_kept() -> None:
    given = Table("db", "t" * 128, (), (), "s3a://elsewhere/t", Storage("", "", ""))
    draft = with_temporary_name(context("s3a://bucket/db.db"), given)
    assert draft.location == "s3a://elsewhere/t"
    assert len(draft.name) <= 128
