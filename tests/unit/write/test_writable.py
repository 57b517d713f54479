"""Which tables are rejected before anything is written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from metastore.client.structs import Column, Skew, Storage, Table
from metastore.domain.buckets import Buckets
from spark_client.errors import InvalidInsertError
from spark_client.table.directory_names import FUNCTION
from spark_client.write.writable import check_writable

TABLE = Table("db", "t", (Column("x", "int"),), (), "file:/t", Storage("…MapredParquetInputFormat", "", ""))
BUCKETED = replace(TABLE, buckets=Buckets(4, ("x",)))


def test_plain_and_bucketed_tables_are_written() -> None:
    check_writable(TABLE)
    check_writable(BUCKETED)


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (replace(TABLE, table_type="VIRTUAL_VIEW"), "db.t is a view; insert into the table that it reads"),
        (replace(TABLE, parameters={"TRANSACTIONAL": "True"}), "only Hive itself can write to it"),
        (replace(TABLE, storage=Storage("…TextInputFormat", "", "")), "only Parquet and ORC can be written"),
        (replace(BUCKETED, parameters={FUNCTION: "short"}), "is CLUSTERED BY, so its directories cannot be named by"),
        (
            replace(BUCKETED, skew=Skew(("x",), (("1",),), directories=True)),
            "both CLUSTERED BY and STORED AS DIRECTORIES",
        ),
        (replace(TABLE, parameters={FUNCTION: "nowhere"}), "'nowhere', which is not registered"),
    ],
)
def test_tables_that_cannot_be_written(table: Table, text: str) -> None:
    with pytest.raises(InvalidInsertError, match=text):
        check_writable(table)
