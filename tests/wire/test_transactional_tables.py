"""Which tables may be transactional (Hive's TransactionalValidationListener)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.builders import descriptor, new_database, table
from thrift_idl.gen.hive_metastore.ttypes import MetaException, Order, Table

ORC = {
    "inputFormat": "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
    "outputFormat": "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
}


def acid(database: str, name: str = "t", *, sd: dict[str, Any] | None = None, **parameters: str) -> Table:
    return table(database, name, sd=descriptor(**ORC | (sd or {})), parameters=parameters)


def made(client: Any, new: Table) -> dict[str, str]:
    """Returns the parameters of a created table, without its time."""
    client.create_table(new)
    actual_parameters = dict(client.get_table(new.dbName, new.tableName).parameters)
    del actual_parameters["transient_lastDdlTime"]
    return actual_parameters


def test_transactional_tables_have_their_properties(hive_client: Any) -> None:
    database = new_database(hive_client)
    full = {"transactional": "true", "transactional_properties": "default"}
    assert made(hive_client, acid(database, "full", TRANSACTIONAL="TRUE")) == full
    parameters = {"transactional": "true", "transactional_properties": "Insert_Only"}
    only = {"transactional": "true", "transactional_properties": "insert_only"}
    assert made(hive_client, table(database, "only", parameters=parameters)) == only
    assert made(hive_client, table(database, "none", parameters={"transactional": "False"})) == {}


@pytest.mark.parametrize(
    ("parameters", "sd", "text"),
    [
        ({"transactional": "foobar"}, ORC, "may only have value 'true'"),
        ({"transactional": "true"}, {}, "ACID compliant format"),
        ({"transactional": "true", "EXTERNAL": "TRUE"}, ORC, "it's an external table"),
        ({"transactional": "true"}, ORC | {"sortCols": [Order("a", 1)]}, "since it is sorted"),
        ({"transactional": "true", "transactional_properties": "x"}, ORC, "unknown value x for transactional_prop"),
    ],
)
def test_tables_that_cannot_be_transactional_are_rejected(
    hive_client: Any, parameters: dict[str, str], sd: dict[str, Any], text: str
) -> None:
    database = new_database(hive_client)
    with pytest.raises(MetaException, match=text):
        hive_client.create_table(table(database, "t", sd=descriptor(**sd), parameters=parameters))
    assert hive_client.get_all_tables(database) == []


def test_a_table_becomes_transactional_and_stays_it(hive_client: Any) -> None:
    database = new_database(hive_client)
    hive_client.create_table(acid(database))

    def altered(**parameters: str) -> dict[str, str]:
        new = hive_client.get_table(database, "t")
        new.parameters = parameters
        hive_client.alter_table(database, "t", new)
        return dict(hive_client.get_table(database, "t").parameters)

    with pytest.raises(MetaException, match="cannot be unset"):
        altered(transactional="foobar")
    actual = altered(transactional="true")
    assert (actual["transactional"], actual["transactional_properties"]) == ("true", "default")
    for bad in ({"k": "v"}, {"transactional": "false"}):
        with pytest.raises(MetaException, match="cannot be unset"):
            altered(**bad)
    with pytest.raises(MetaException, match="cannot be altered after the table is created"):
        altered(transactional="true", transactional_properties="insert_only")
    with pytest.raises(MetaException, match="cannot be converted to external table"):
        altered(transactional="true", EXTERNAL="TRUE")
    assert altered(transactional="true", transactional_properties="default", k="v")["k"] == "v"
