"""A table has at most as many skewed values as its parameter allows, from every client."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.builders import descriptor, new_database, partition, skewed, table
from thrift_idl.gen.hive_metastore.ttypes import (
    EnvironmentContext,
    InvalidObjectException,
    InvalidOperationException,
    Table,
)

SAID = EnvironmentContext({"alterTableOpType": "SKEWED_BY"})


def values(count: int) -> list[list[str]]:
    return [[str(number)] for number in range(count)]


def skewed_table(database: str, name: str, count: int, limit: str | None = None) -> Table:
    parameters = {} if limit is None else {"skew.max.values": limit}
    return table(
        database,
        name,
        [("ds", "string")],
        sd=descriptor(skewedInfo=skewed(["a"], values(count)), storedAsSubDirectories=True),
        parameters=parameters,
    )


def test_the_limit_is_a_hundred_unless_the_table_sets_another(hive_client: Any) -> None:
    database = new_database(hive_client)
    hive_client.create_table(skewed_table(database, "hundred", 100))
    with pytest.raises(
        InvalidObjectException, match=rf"{database}\.more cannot be skewed on 101 values: at most 100 "
    ) as error:
        hive_client.create_table(skewed_table(database, "more", 101))
    assert "skew.max.values" in error.value.message
    hive_client.create_table(skewed_table(database, "more", 101, "150"))
    with pytest.raises(InvalidObjectException, match="at most 2 are allowed"):
        hive_client.create_table(skewed_table(database, "fewer", 3, "2"))
    for wrong in ("many", "0", "-1", ""):
        with pytest.raises(InvalidObjectException, match=r"skew\.max\.values is '"):
            hive_client.create_table(skewed_table(database, "fewer", 1, wrong))


def test_a_change_of_the_values_is_counted_and_no_other(hive_client: Any) -> None:
    database = new_database(hive_client)
    hive_client.create_table(skewed_table(database, "t", 101, "101"))
    new = hive_client.get_table(database, "t")
    new.parameters["skew.max.values"] = "50"
    hive_client.alter_table_with_environment_context(database, "t", new, SAID)
    new.sd.skewedInfo = skewed(["a"], values(51))
    with pytest.raises(InvalidOperationException, match="cannot be skewed on 51 values: at most 50"):
        hive_client.alter_table_with_environment_context(database, "t", new, SAID)
    assert len(hive_client.get_table(database, "t").sd.skewedInfo.skewedColValues) == 101
    new.sd.skewedInfo = skewed(["a"], values(50))
    hive_client.alter_table_with_environment_context(database, "t", new, SAID)


def test_partitions_have_no_more_than_their_table_may(hive_client: Any) -> None:
    database = new_database(hive_client)
    hive_client.create_table(skewed_table(database, "t", 2, "3"))
    for ds, count in (("1", 3), ("2", 4)):
        sd = descriptor(skewedInfo=skewed(["a"], values(count)), storedAsSubDirectories=True)
        new = partition(database, "t", [ds], sd=sd)
        if count == 3:
            hive_client.add_partition(new)
            continue
        with pytest.raises(InvalidObjectException, match=rf"{database}\.t partition ds=2 cannot be skewed on 4 values"):
            hive_client.add_partition(new)
