"""A dependent table on two text tables, created without our library; queries on it, and their results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.wire.builders import columns, descriptor, partition, table
from tests.wire.dependencies.requests import DS, HR, MIN, add_to_dependent, depend
from tests.wire.dependencies.requests import create as create_dependent
from thrift_idl.gen.hive_metastore.ttypes import SerDeInfo

TEXT = {
    "inputFormat": "org.apache.hadoop.mapred.TextInputFormat",
    "outputFormat": "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
    "serdeInfo": SerDeInfo(
        serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", parameters={"field.delim": ","}
    ),
    "cols": columns(("key", "string"), ("value", "string")),
}
ANSWERS = {
    "SELECT * FROM {0}.tdep": [["t", "1-1", "1"], ["t", "1-2", "1"], ["t2", "11-1-1", "11"]],
    "SELECT count(1) FROM {0}.tdep WHERE ds = '1'": [[2]],
    "SELECT DISTINCT regexp_extract(input_file_name(), '([^/]*)/rows$', 1) FROM {0}.tdep WHERE ds = '1'": [
        ["1-1"],
        ["1-2"],
    ],
    "SELECT value FROM {0}.tdep WHERE ds = 11 OR ds = 2": [["11-1-1"]],
    "DROP DATABASE {0} CASCADE": [],
    "CREATE DATABASE {0}": [],
}


def create(client: Any, database: str, folder: Path) -> None:
    """T with two hours of the days 1 and 2, T2 with one minute of day 11; Tdep has the days 1 and 11 of them."""
    for name, keys, values in (
        ("t", [DS, HR], [["1", "1"], ["1", "2"], ["2", "1"]]),
        ("t2", [DS, HR, MIN], [["11", "1", "1"]]),
    ):
        sd = descriptor(f"file:{folder / name}", **TEXT)
        client.create_table(table(database, name, keys, sd=sd))
        for value in values:
            directory = folder / name / "-".join(value)
            directory.mkdir(parents=True)
            (directory / "rows").write_text(f"{name},{'-'.join(value)}\n")
            client.add_partition(partition(database, name, value, sd=descriptor(f"file:{directory}", **TEXT)))
    create_dependent(client, database, "tdep", "t")
    add_to_dependent(client, database, "tdep", ["1"])
    depend(client, database, "tdep", "t2")
    add_to_dependent(client, database, "tdep", ["11"])
