"""Dependent tables: the two scenarios of the proposal line by line, the view that engines read, and freshness."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.builders import columns, new_database, table
from tests.wire.dependencies.requests import (
    DOWN,
    DS,
    add,
    add_to_dependent,
    asked,
    bases,
    create,
    depend,
    fresh,
    reads,
    text,
)
from thrift_idl.gen.hive_metastore.ttypes import (
    InvalidObjectException,
)

# ---- The proposal


def test_the_first_scenario(client: Any, database: str) -> None:
    made = client.get_table(database, "tdep")
    assert made.sd.cols == client.get_table(database, "t").sd.cols
    assert made.partitionKeys == columns(DS)
    assert (made.tableType, made.sd.location) == ("VIRTUAL_VIEW", None)
    assert made.parameters["dependent.on"] == f"{database}.t"
    hours = [[f"{day}", f"{hour:02}"] for day in (1, 2) for hour in range(1, 25)]
    add(client, database, "t", *hours)
    add_to_dependent(client, database, "tdep", ["1"])
    assert bases(client, database, "tdep") == [("tdep", "t")] == bases(client, database, "t", DOWN)
    assert reads(client, database, "tdep") == {"ds=1": ("t", [f"ds=1/hr={hour:02}" for hour in range(1, 25)])}
    below = asked(client, database, "t", DOWN, ["1", "07"]).partitions
    assert [(dependency.tableName, dependency.partitionName, dependency.baseSpec) for dependency in below] == [
        ("tdep", "ds=1", "ds=1")
    ]
    assert asked(client, database, "t", DOWN, ["2"]).partitions == []


def test_the_second_scenario(client: Any, database: str) -> None:
    days = [[str(day)] for day in range(1, 11)]
    add(client, database, "t", *[[*day, "1"] for day in days])
    add_to_dependent(client, database, "tdep", *days)
    depend(client, database, "tdep", "t2")
    add(client, database, "t2", ["11", "1", "1"], ["11", "24", "60"], ["10", "1", "1"])
    add_to_dependent(client, database, "tdep", ["11"])
    assert bases(client, database, "tdep") == [("tdep", "t"), ("tdep", "t2")]
    assert bases(client, database, "t", DOWN) == [("tdep", "t")]
    assert bases(client, database, "t2", DOWN) == [("tdep", "t2")]
    now = reads(client, database, "tdep")
    assert {name: base for name, (base, _) in now.items()} == {
        **{f"ds={day}": "t" for (day,) in days},
        "ds=11": "t2",
    }
    assert now["ds=11"] == ("t2", ["ds=11/hr=1/min=1", "ds=11/hr=24/min=60"])
    depend(client, database, "tdep", "t2", ["10"])
    assert reads(client, database, "tdep", ["10"]) == {"ds=10": ("t2", ["ds=10/hr=1/min=1"])}
    assert text(client, database) == (
        "SELECT `a`, `x`, `ds` FROM `t` WHERE `ds` IN ('1', '2', '3', '4', '5', '6', '7', '8', '9')\n"
        "UNION ALL\nSELECT `a`, `x`, `ds` FROM `t2` WHERE `ds` IN ('10', '11')"
    )


def test_base_partitions_are_found_on_request(client: Any, database: str) -> None:
    add_to_dependent(client, database, "tdep", ["1"])
    assert reads(client, database, "tdep") == {"ds=1": ("t", [])}
    add(client, database, "t", ["1", "24"], ["1", "25"])
    assert reads(client, database, "tdep") == {"ds=1": ("t", ["ds=1/hr=24", "ds=1/hr=25"])}
    client.drop_partition(database, "t", ["1", "24"], True)
    assert reads(client, database, "tdep") == {"ds=1": ("t", ["ds=1/hr=25"])}


# ---- The view


def test_the_view_follows(client: Any, database: str) -> None:
    assert text(client, database) == "SELECT `a`, `x`, `ds` FROM `t` WHERE false"
    add_to_dependent(client, database, "tdep", ["it's"], ["b\\"])
    assert text(client, database) == (
        "SELECT `a`, `x`, `ds` FROM `t` WHERE `ds` IN (concat('b', chr(92)), concat('it', chr(39), 's'))"
    )
    client.drop_partition(database, "tdep", ["b\\"], True)
    assert text(client, database) == "SELECT `a`, `x`, `ds` FROM `t` WHERE `ds` = concat('it', chr(39), 's')"
    renamed = client.get_partition(database, "tdep", ["it's"])
    renamed.values = ["2"]
    client.rename_partition(database, "tdep", ["it's"], renamed)
    assert text(client, database) == "SELECT `a`, `x`, `ds` FROM `t` WHERE `ds` = '2'"
    assert reads(client, database, "tdep") == {"ds=2": ("t", [])}
    base = client.get_table(database, "t")
    base.tableName = "u"
    client.alter_table(database, "t", base)
    assert text(client, database) == "SELECT `a`, `x`, `ds` FROM `u` WHERE `ds` = '2'"
    assert client.get_table(database, "tdep").parameters["dependent.on"] == f"{database}.u"


def test_plain_clients_see_partitions(client: Any, database: str) -> None:
    add_to_dependent(client, database, "tdep", ["1"], ["2"])
    client.append_partition(database, "tdep", ["3"])
    assert client.get_partition_names(database, "tdep", -1) == ["ds=1", "ds=2", "ds=3"]
    assert client.get_partition_by_name(database, "tdep", "ds=1").sd.location is None
    (actual,) = client.get_partitions_by_filter(database, "tdep", "ds = '2'", -1)
    assert actual.values == ["2"]
    assert database in {each.dbName for each in client.get_table_meta("*", "tdep", ["VIRTUAL_VIEW"])}


def test_two_partition_columns(client: Any, database: str) -> None:
    create(client, database, "hourly", "t2", "ds", "hr")
    add_to_dependent(client, database, "hourly", ["1", "1"], ["1", "2"], ["2", "1"], ["2", "2"], ["3", "1"])
    assert text(client, database, "hourly") == (
        "SELECT `a`, `x`, `ds`, `hr` FROM `t2` WHERE "
        "((`ds` IN ('1', '2') AND `hr` IN ('1', '2')) OR (`ds` = '3' AND `hr` = '1'))"
    )
    add(client, database, "t2", ["1", "2", "5"], ["1", "3", "5"])
    assert reads(client, database, "hourly", ["1"]) == {
        "ds=1/hr=1": ("t2", []),
        "ds=1/hr=2": ("t2", ["ds=1/hr=2/min=5"]),
    }
    for spec in ([], ["1"], ["1", "2"], ["1", "2", "5"]):
        names = [partition.partitionName for partition in asked(client, database, "t2", DOWN, spec).partitions]
        assert "ds=1/hr=2" in names, spec


def test_keys_of_other_types(client: Any) -> None:
    database = new_database(client)
    client.create_table(table(database, "t", [("d", "date"), ("n", "int")]))
    create(client, database, "dep", "t", "d", "n")
    add(client, database, "t", ["2024-01-31", "1"], ["2024-01-31", "__HIVE_DEFAULT_PARTITION__"])
    with pytest.raises(InvalidObjectException, match=rf"{database}.dep: 'x' is not a value of the partition column n"):
        add_to_dependent(client, database, "dep", ["2024-01-31", "x"])
    add_to_dependent(client, database, "dep", ["2024-1-31", "01"], ["2024-01-31", "__HIVE_DEFAULT_PARTITION__"])
    assert text(client, database, "dep") == (
        "SELECT `a`, `x`, `d`, `n` FROM `t` WHERE "
        "((`d` = CAST('2024-01-31' AS date) AND `n` IS NULL) OR "
        "(`d` = CAST('2024-01-31' AS date) AND `n` = 1))"
    )
    assert reads(client, database, "dep") == {
        "d=2024-01-31/n=__HIVE_DEFAULT_PARTITION__": ("t", ["d=2024-01-31/n=__HIVE_DEFAULT_PARTITION__"]),
        "d=2024-1-31/n=01": ("t", ["d=2024-01-31/n=1"]),
    }


# ---- Freshness


def test_a_rewritten_base_partition_makes_stale(client: Any, database: str) -> None:
    create(client, database, "second", "tdep")
    add(client, database, "t", ["1", "1"], ["2", "1"])
    for name in ("tdep", "second"):
        add_to_dependent(client, database, name, ["1"], ["2"])
    assert fresh(client, database, "tdep") == fresh(client, database, "second") == {"ds=1": True, "ds=2": True}
    client.alter_partition(database, "t", client.get_partition(database, "t", ["1", "1"]))
    assert fresh(client, database, "tdep") == fresh(client, database, "second") == {"ds=1": False, "ds=2": True}
    impact = asked(client, database, "t", DOWN, ["1"]).partitions
    assert [(dependency.tableName, dependency.fresh) for dependency in impact] == [("tdep", False), ("second", False)]
    depend(client, database, "tdep", "t", ["1"])
    assert fresh(client, database, "tdep") == {"ds=1": True, "ds=2": True}
    assert fresh(client, database, "second") == {"ds=1": False, "ds=2": True}
    add(client, database, "t", ["2", "2"])
    assert fresh(client, database, "tdep") == {"ds=1": True, "ds=2": False}
    client.drop_partition(database, "t", ["1", "1"], True)
    assert fresh(client, database, "tdep") == {"ds=1": False, "ds=2": False}
    add(client, database, "t", ["1", "1"])
    assert fresh(client, database, "tdep")["ds=1"] is False
