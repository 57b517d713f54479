"""A commit of an Iceberg table must be based on the present metadata."""

from __future__ import annotations

import pytest

from metastore.errors import ConflictError
from metastore.services.rules.iceberg_commits import check_commit
from tests.wire.builders import table
from thrift_idl.gen.hive_metastore.ttypes import Table

NOW = {"table_type": "ICEBERG", "metadata_location": "m2", "previous_metadata_location": "m1"}


def _table(parameters: dict[str, str] | None) -> Table:
    return table("db", "t", parameters=parameters)


@pytest.mark.parametrize(
    "sent",
    [
        {**NOW, "metadata_location": "m3"},  # based on m1, as its writer has not seen m2
        {**NOW, "metadata_location": "m1", "previous_metadata_location": "m0"},  # another change of an old copy
        {"table_type": "ICEBERG", "metadata_location": "m3"},
        {"table_type": "iceberg", "metadata_location": "m3", "previous_metadata_location": ""},
    ],
)
@pytest.mark.parametrize("kind", ["ICEBERG", "iceberg", "ICEBERG-VIEW"])
def test_a_commit_on_outdated_metadata_is_rejected(kind: str, sent: dict[str, str]) -> None:
    text = "The table has been modified. The parameter value for key 'metadata_location' is 'm2'"
    with pytest.raises(ConflictError, match=text):
        check_commit(_table({**NOW, "table_type": kind}), _table(sent), None)
    with pytest.raises(ConflictError):
        check_commit(_table({**NOW, "table_type": kind}), _table(sent), "another key")
    check_commit(_table({**NOW, "table_type": kind}), _table(sent), "metadata_location")  # was compared


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (NOW, {**NOW, "metadata_location": "m3", "previous_metadata_location": "m2"}),  # a commit
        (NOW, {**NOW, "comment": "x"}),  # no commit
        ({}, NOW),  # registration, conversion of a Hive table
        ({"metadata_location": "m1"}, {"metadata_location": "m3"}),  # a parameter of another format
        (NOW, {}),  # conversion to a Hive table
        (NOW, None),
    ],
)
def test_other_changes_are_none_of_its_business(before: dict[str, str], after: dict[str, str] | None) -> None:
    check_commit(_table(before), _table(after), None)
