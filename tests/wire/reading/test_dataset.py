"""The rows that a dataset has: of every layout, type and age of files."""

from __future__ import annotations

import datetime
import json
import pickle
from dataclasses import replace
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from metastore.client import MetastoreClient, dataset, files, read
from metastore.client.errors import InvalidFilterError, UnreadableTableError
from metastore.client.structs import Column, PublishMode
from metastore.domain.bucket_hash import bucket_hash
from metastore.domain.buckets import bucket_file
from metastore.domain.partition_names import DEFAULT_PARTITION
from tests.wire.builders import skewed
from tests.wire.reading.tables import ORC, Written, make_table, write_file
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema
from thrift_idl.gen.metastore.ttypes import CreateDependentTableRequest

DAY = datetime.date(2026, 1, 5)


def rows(found: Any) -> list[tuple[Any, ...]]:
    """Returns the rows of a dataset or table in an order of their own."""
    table = found if isinstance(found, pa.Table) else found.to_table()
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def ids(*numbers: int | None) -> pa.Table:
    return pa.table({"id": pa.array(numbers, pa.int64())})


@pytest.fixture
def table(metastore: MetastoreClient) -> Written:
    """Two days: files with the table's columns, and one with other cases and types and without a column."""
    written = make_table(metastore, {"id": "bigint", "x": "string"}, {"ds": "date", "n": "int"})
    written.overwrite(["2026-01-05", "1"], pa.table({"id": pa.array([1, 2], pa.int64()), "x": ["a", None]}))
    old = pa.table({"ID": pa.array([3], pa.int32()), "gone": ["y"]})
    written.overwrite(["2026-01-06", DEFAULT_PARTITION], old)
    return written


def test_partition_values_are_columns_of_their_types(metastore: MetastoreClient, table: Written) -> None:
    found = dataset(metastore, table.full_name)
    assert found.schema == pa.schema([("id", pa.int64()), ("x", pa.string()), ("ds", pa.date32()), ("n", pa.int32())])
    assert rows(found) == [(1, "a", DAY, 1), (2, None, DAY, 1), (3, None, DAY + datetime.timedelta(1), None)]
    assert found.count_rows() == 3
    assert found.head(1).num_rows == 1
    assert sum(batch.num_rows for batch in found.to_batches()) == 3
    assert read(table.full_name, uri=metastore).equals(found.to_table())


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("id > 1", [2, 3]),
        ("id >= 1.5 and ds < '2026-01-06'", [2]),
        ("ds = '2026-1-5' and x = 'a'", [1]),
        ("x != 'a'", []),
        ("x is null", [2, 3]),
        ("n is null or id = 1", [1, 3]),
        ("n is not null", [1, 2]),
        ("x like 'a%' or id = 3", [1, 3]),
        ("x not like 'b_'", [1]),
        ("id in (1, 3, 3.5)", [1, 3]),
        ("id not in (1)", [2, 3]),
        ("id between 2 and 99999999999999999999", [2, 3]),
        ("id = 'no number'", []),
        ("2 <= id", [2, 3]),
    ],
)
def test_where_selects_rows(metastore: MetastoreClient, table: Written, where: str, expected: list[int]) -> None:
    assert sorted(dataset(metastore, table.full_name, where).to_table()["id"].to_pylist()) == expected
    assert dataset(metastore, table.full_name, where, columns=[]).count_rows() == len(expected)


def test_columns_and_expressions(metastore: MetastoreClient, table: Written) -> None:
    found = dataset(metastore, table.full_name, "id >= 2", columns=["X", "n"])
    assert found.schema.names == ["x", "n"]
    assert rows(found) == [(None, 1), (None, None)]
    assert rows(dataset(metastore, table.full_name, pc.field("n").is_null(), ["id"])) == [(3,)]
    assert rows(found.filter(pc.field("n") == 1)) == [(None, 1)]
    assert rows(found.to_table(columns={"twice": pc.field("id") * 2}, filter=pc.field("ds") == pa.scalar(DAY))) == [
        (4,)
    ]
    assert found.sort_by("n").to_table()["n"].to_pylist() == [1, None]


def test_a_dataset_can_be_sent_and_split(metastore: MetastoreClient, table: Written) -> None:
    found = pickle.loads(pickle.dumps(dataset(metastore, table.full_name, "id > 0")))
    assert rows(found) == rows(dataset(metastore, table.full_name))
    parts = [rows(found.shard(index, 3)) for index in range(3)]
    for index, count in ((3, 3), (-1, 3), (0, 0)):
        with pytest.raises(ValueError, match=f"shard {index} of {count} does not exist"):
            found.shard(index, count)
    assert sorted(chain.from_iterable(parts)) == rows(found)
    assert [] in parts


TYPES: dict[str, tuple[str, Any]] = {
    "boolean": ("true", True),
    "tinyint": ("-5", -5),
    "smallint": ("7", 7),
    "int": ("007", 7),
    "bigint": ("9223372036854775807", 2**63 - 1),
    "float": ("1.5", 1.5),
    "double": ("1e3", 1000.0),
    "decimal(5,2)": ("1.5", Decimal("1.50")),
    "string": ("a=b/c %", "a=b/c %"),
    "varchar(3)": ("abc", "abc"),
    "char(4)": ("ab", "ab  "),
    "date": ("2026-01-05", DAY),
    "timestamp": ("2026-01-05 01:02:03.5", datetime.datetime.fromisoformat("2026-01-05T01:02:03.5")),
}


@pytest.mark.parametrize("kind", TYPES)
def test_partition_columns_of_each_type(metastore: MetastoreClient, kind: str) -> None:
    text, value = TYPES[kind]
    written = make_table(metastore, {"id": "bigint"}, {"p": kind})
    for each, number in ((text, 1), (DEFAULT_PARTITION, 2)):
        written.overwrite([each], ids(number))
    assert rows(dataset(metastore, written.full_name)) == [(1, value), (2, None)]
    assert rows(dataset(metastore, written.full_name, f"p = '{text}'", ["id"])) == [(1,)]
    assert rows(dataset(metastore, written.full_name, "p is null", ["id"])) == [(2,)]


@pytest.mark.parametrize("formats", [(), ORC], ids=["parquet", "orc"])
def test_older_files_are_read_by_the_schema_of_the_table(
    metastore: MetastoreClient, formats: tuple[str, ...], tmp_path: Path
) -> None:
    columns = {
        "id": "bigint",
        "price": "decimal(10,2)",
        "at": "timestamp",
        "word": "char(3)",
        "s": "struct<a:int,b:array<struct<c:bigint>>>",
        "m": "map<string,double>",
        "added": "int",
    }
    fields = [_field(name, kind) for name, kind in SPARK_TYPES.items()]
    schema = json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"))
    location = f"file:{tmp_path}/t"
    written = make_table(
        metastore,
        columns,
        formats=formats,
        sd={"location": location},
        tableType="EXTERNAL_TABLE",
        parameters={"EXTERNAL": "TRUE", "spark.sql.sources.schema": schema},
    )
    old = pa.table(
        {
            "ID": pa.array([1], pa.int32()),
            "Price": pa.array([Decimal("1.5")], pa.decimal128(5, 1)),
            "at": pa.array([1_500], pa.timestamp("ns", "UTC")),
            "word": ["x"],
            "S": pa.array(
                [{"A": 1, "B": [{"C": 2}]}],
                pa.struct([("A", pa.int8()), ("B", pa.list_(pa.struct([("C", pa.int32())])))]),
            ),
            "m": pa.array([[("k", 0.5)]], pa.map_(pa.string(), pa.float32())),
        }
    )
    write_file(Path(written.root) / f"old.{'orc' if formats else 'parquet'}", old)
    moment = datetime.datetime.fromisoformat("1970-01-01T00:00:00.000001")
    expected = (1, Decimal("1.50"), moment, "x  ", {"a": 1, "b": [{"c": 2}]}, [("k", 0.5)], 7)
    assert rows(dataset(metastore, written.full_name)) == [expected]
    assert rows(dataset(metastore, written.full_name, "added = 7 and word = 'x' and price < 2", ["id"])) == [(1,)]


def test_defaults_of_a_record_that_is_out_of_date(metastore: MetastoreClient) -> None:
    """Spark ignores the columns that it has recorded, if a client of Hive has changed them since."""
    schema = json.dumps({"type": "struct", "fields": [_field("id", "long"), _field("added", "integer")]})
    parameters = {"spark.sql.sources.schema": schema}
    written = make_table(metastore, {"id": "bigint", "added": "int"}, parameters=parameters)
    written.overwrite([], ids(1))
    assert rows(dataset(metastore, written.full_name)) == [(1, 7)]
    known = metastore.get_table(written.database, "t")
    columns = (known.columns[0], replace(known.columns[1], type="bigint"))
    metastore.alter_table(replace(known, columns=columns))
    assert rows(dataset(metastore, written.full_name)) == [(1, None)]


def test_dates_of_the_julian_calendar_in_orc(metastore: MetastoreClient) -> None:
    columns = {"day": "date", "days": "struct<a:array<date>>"}
    for name, kind in columns.items():
        written = make_table(metastore, {"id": "bigint", name: kind}, formats=ORC)
        values = {"day": [-141_427, None], "days": [{"a": [-141_427, None]}, None]}[name]
        old = {"day": [-141_428], "days": [None, {"a": [0, -141_428]}]}[name]
        type_ = {"day": pa.date32(), "days": pa.struct([("a", pa.list_(pa.date32()))])}[name]
        for number, content in enumerate((values, old)):
            file = pa.table({"id": pa.array([number] * len(content), pa.int64()), name: pa.array(content, type_)})
            write_file(written.root / f"{number}.orc", file)
        assert dataset(metastore, written.full_name, columns=["id"]).count_rows() == 2 + len(old)
        assert dataset(metastore, written.full_name).to_table(columns=["id"]).num_rows == 2 + len(old)
        with pytest.raises(UnreadableTableError, match=f"column {name} has dates before 15 October 1582 in a file of"):
            dataset(metastore, written.full_name).to_table()
        (written.root / "1.orc").unlink()
        assert dataset(metastore, written.full_name).to_table().num_rows == 2


SPARK_TYPES: dict[str, Any] = {
    "id": "long",
    "price": "decimal(10,2)",
    "at": "timestamp",
    "word": "string",
    "s": {
        "type": "struct",
        "fields": [
            {"name": "a", "type": "integer", "nullable": True, "metadata": {}},
            {
                "name": "b",
                "type": {
                    "type": "array",
                    "containsNull": True,
                    "elementType": {
                        "type": "struct",
                        "fields": [{"name": "c", "type": "long", "nullable": True, "metadata": {}}],
                    },
                },
                "nullable": True,
                "metadata": {},
            },
        ],
    },
    "m": {"type": "map", "keyType": "string", "valueType": "double", "valueContainsNull": True},
    "added": "integer",
}


def _field(name: str, kind: Any) -> dict[str, Any]:
    return {
        "name": name,
        "type": kind,
        "nullable": True,
        "metadata": {"EXISTS_DEFAULT": "7"} if name == "added" else {},
    }


def test_tables_without_partitions(metastore: MetastoreClient) -> None:
    written = make_table(metastore, {"id": "bigint"})
    assert rows(dataset(metastore, written.full_name)) == []
    location = written.overwrite([], ids(1), ids(2))
    written.append([], location, ids(3))
    assert rows(dataset(metastore, written.full_name)) == [(1,), (2,), (3,)]


def test_only_published_files_are_read(metastore: MetastoreClient, table: Written) -> None:
    partition = metastore.plan_scan(table.database, table.name).partitions[0]
    directory = partition.location.removeprefix("file:")
    for hidden in ("_SUCCESS", ".part-0.parquet.crc", "x.parquet._COPYING_"):
        (Path(directory) / hidden).write_bytes(b"no rows")
    (Path(directory) / "empty").write_bytes(b"")
    query_id = table.begin()
    table.write(directory, query_id, pa.table({"id": pa.array([9], pa.int64())}))
    assert rows(dataset(metastore, table.full_name, columns=["id"])) == [(1,), (2,), (3,)]
    table.publish(query_id, partition.values, PublishMode.APPEND, partition.location)
    assert rows(dataset(metastore, table.full_name, columns=["id"])) == [(1,), (2,), (3,), (9,)]


def test_directories_of_skewed_values_are_pruned(metastore: MetastoreClient) -> None:
    sd = {"skewedInfo": skewed(["x"], [["a"], ["b"]]), "storedAsSubDirectories": True}
    written = make_table(metastore, {"id": "bigint", "x": "string"}, {"ds": "string"}, sd=sd)
    query_id = written.begin()
    location = f"{written.root}/ds=1"
    for number, (value, folder, prefix) in enumerate(
        [
            ("a", "/x=a", ""),
            ("b", "", "skew.x=b="),
            ("c", "/HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME", ""),
            ("d", "", "skew="),
            ("a", "", ""),
        ]
    ):
        file = pa.table({"id": pa.array([number], pa.int64()), "x": [value]})
        written.write(f"{location}{folder}", query_id, file, prefix)
    skew = {("a",): f"file:{location}/x=a"}
    written.publish(query_id, ["1"], PublishMode.CREATE, f"file:{location}", skewed_locations=skew)
    assert rows(dataset(metastore, written.full_name, columns=["id"])) == [(0,), (1,), (2,), (3,), (4,)]
    assert rows(dataset(metastore, written.full_name, "x = 'a'", ["id"])) == [(0,), (4,)]
    read_for = {
        where: len([*files(metastore, written.full_name, where)]) for where in ("x = 'a'", "x = 'b'", "x = 'c'")
    }
    assert read_for == {"x = 'a'": 2, "x = 'b'": 2, "x = 'c'": 3}


@pytest.mark.parametrize("version", ["1", "2"])
def test_buckets_are_pruned(metastore: MetastoreClient, version: str) -> None:
    sd = {"bucketCols": ["id"], "numBuckets": 4}
    parameters = {"bucketing_version": version}
    written = make_table(metastore, {"id": "bigint"}, {"ds": "string"}, sd=sd, parameters=parameters)
    query_id, location = written.begin(), f"{written.root}/ds=1"
    for number in range(20):
        digest = bucket_hash("bigint", number, int(version))
        assert digest is not None
        written.write(location, query_id, ids(number), bucket_file((digest & 0x7FFFFFFF) % 4, ""))
    written.publish(query_id, ["1"], PublishMode.CREATE, f"file:{location}")
    assert len([*files(metastore, written.full_name)]) == 20
    for where, expected in (("id = 7", [7]), ("id in (3, 4)", [3, 4]), ("id = 7.5", []), ("id is null", [])):
        assert rows(dataset(metastore, written.full_name, where, ["id"])) == [(number,) for number in expected]
        assert len([*files(metastore, written.full_name, where)]) < 20
    write_file(Path(location) / "other.parquet", ids(7))
    assert dataset(metastore, written.full_name, "id = 7").to_table()["id"].to_pylist() == [7, 7]


def test_sub_directories_are_rows_of_their_partition(metastore: MetastoreClient, table: Written) -> None:
    """As Hive's UNION ALL writes them."""
    directory = Path(table.overwrite(["2026-01-05", "1"]))
    (directory / "HIVE_UNION_SUBDIR_1").mkdir(parents=True)
    (directory / "_tmp").mkdir()
    for below in ("HIVE_UNION_SUBDIR_1", "_tmp"):
        write_file(directory / below / "000000_0.parquet", ids(4))
    assert rows(dataset(metastore, table.full_name, "ds = '2026-01-05'", ["id"])) == [(4,)]


def test_dependent_tables(metastore: MetastoreClient) -> None:
    base = make_table(metastore, {"id": "bigint"}, {"ds": "string", "hr": "int"})
    for day, hour in (("1", "0"), ("1", "1"), ("2", "0")):
        base.overwrite([day, hour], ids(int(day) * 10 + int(hour)))
    metastore.create_dependent_table(
        CreateDependentTableRequest(base.database, "d", [FieldSchema("ds", "string")], base.database, "t")
    )
    assert rows(dataset(metastore, f"{base.database}.d")) == []
    metastore.add_partitions(base.database, "d", [["1"]], if_not_exists=False)
    assert rows(dataset(metastore, f"{base.database}.d")) == [(10, "1"), (11, "1")]
    assert rows(dataset(metastore, f"{base.database}.d", "id > 10 and ds = '1'", ["id"])) == [(11,)]
    assert [each.partition for each in files(metastore, f"{base.database}.d", "ds = '2'")] == []


TEXT = ("org.apache.hadoop.mapred.TextInputFormat", "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat")
TEXT_FILES: dict[str, tuple[str, dict[str, str], str]] = {
    "text": ("org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", {}, "1\x01a,b\n2\x01\\N\nx\x01\n"),
    "tabs": ("org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", {"field.delim": "\t"}, "1\ta,b\n2\t\\N\nx\t\n"),
    "csv": ("org.apache.hadoop.hive.serde2.OpenCSVSerde", {}, '1,"a,b"\n2,"\\N"\nx,\n'),
    "json": ("org.apache.hive.hcatalog.data.JsonSerDe", {}, '{"ID":1,"x":"a,b"}\n{"ID":2}\n{"x":""}\n'),
}


@pytest.mark.parametrize("kind", TEXT_FILES)
def test_text_files(metastore: MetastoreClient, kind: str) -> None:
    serde, parameters, text = TEXT_FILES[kind]
    written = make_table(metastore, {"id": "int", "x": "string"}, formats=(*TEXT, serde), serde_parameters=parameters)
    (Path(written.root) / "000000_0").write_text(text)
    expected = [(1, "a,b"), (2, None), (None, "")]
    if kind == "csv":  # this serde knows no NULL
        expected[1] = (2, "N")
    assert rows(dataset(metastore, written.full_name)) == expected


@pytest.mark.parametrize(
    ("kind", "parameters", "text", "expected"),
    [
        (
            "text",
            {},
            "1\n2\x01b\x01c\x01d\n\n3\x01\x01",
            [(1, None, None), (2, "b", "c"), (3, "", ""), (None, None, None)],
        ),
        (
            "csv",
            {},
            '1\n2,"b,""\n\n,,"c",d\n',
            [("", "", "c"), ("1", None, None), ("2", None, None), (None, None, None)],
        ),
        (
            "text",
            {"field.delim": ",", "escape.delim": "\\"},
            "1,a\\,b\\\\\n2,,\\N,4",
            [(1, "a,b\\", None), (2, "", None)],
        ),
        ("text", {"field.delim": "|", "skip": "1"}, "id|x|y\n", []),
    ],
    ids=["text", "csv", "escapes", "header"],
)
def test_lines_of_other_lengths(
    metastore: MetastoreClient, kind: str, parameters: dict[str, str], text: str, expected: list[Any]
) -> None:
    """As Hive reads them: missing columns are NULL, and additional ones are left out."""
    serde, _, _ = TEXT_FILES[kind]
    skip = {"skip.header.line.count": parameters.pop("skip")} if "skip" in parameters else {}
    columns = {"id": "string" if kind == "csv" else "int", "x": "string", "y": "string"}
    formats = (*TEXT, serde)
    written = make_table(metastore, columns, formats=formats, serde_parameters=parameters, parameters=skip)
    (Path(written.root) / "000000_0").write_text(text)
    assert rows(dataset(metastore, written.full_name)) == expected
    assert dataset(metastore, written.full_name, columns=["y"]).count_rows() == len(expected)


def test_columns_added_to_a_partitioned_text_table(metastore: MetastoreClient) -> None:
    """Spark reads lines of all partitions by the columns of the table."""
    written = make_table(metastore, {"id": "int"}, {"ds": "string"}, formats=(*TEXT, TEXT_FILES["text"][0]))
    directory = Path(written.overwrite(["1"]))
    directory.mkdir(parents=True)
    (directory / "000000_0").write_text("1\n2\x01b\n")
    known = metastore.get_table(written.database, "t")
    metastore.alter_table(replace(known, columns=(*known.columns, Column("x", "string"))))
    assert rows(dataset(metastore, written.full_name)) == [(1, None, "1"), (2, "b", "1")]


def test_json_of_every_type(metastore: MetastoreClient) -> None:
    columns = {
        "f": "double",
        "d": "decimal(5,2)",
        "b": "boolean",
        "day": "date",
        "at": "timestamp",
        "raw": "binary",
        "word": "string",
        "n": "tinyint",
        "s": "struct<a:int,b:array<map<string,bigint>>>",
    }
    written = make_table(metastore, columns, formats=(*TEXT, TEXT_FILES["json"][0]))
    lines = [
        '{"F":"NaN","d":1.005,"b":true,"day":"2026-01-05","at":"2026-01-05T01:00:00.5Z","raw":"YQ==","word":1.50,"n":7}',
        "",
        '{"f":1e3,"n":700,"b":"x","day":"x","at":"2026-01-05T01:00:00+02:00","s":{"A":1,"b":[{"k":2}, null]},"d":null}',
    ]
    (Path(written.root) / "000000_0").write_text("\n".join(lines))
    first, second = dataset(metastore, written.full_name).to_table().to_pylist()
    assert str(first.pop("f")) == "nan"
    moment = datetime.datetime.fromisoformat("2026-01-05T01:00:00.5")
    expected = (Decimal("1.01"), True, DAY, moment, b"a", "1.50", 7, None)
    assert tuple(first.values()) == expected
    nested = {"a": 1, "b": [[("k", 2)], None]}
    assert tuple(second.values()) == (
        1e3,
        None,
        None,
        None,
        datetime.datetime.fromisoformat("2026-01-04T23:00"),
        *[None] * 3,
        nested,
    )
    (Path(written.root) / "000001_0").write_text("[1]\n")
    with pytest.raises(UnreadableTableError, match=r"a line of a file is no JSON object: '\[1\]'"):
        dataset(metastore, written.full_name).to_table()


def test_unknown_columns_are_named(metastore: MetastoreClient, table: Written) -> None:
    for parameters in ({"where": "y = 1"}, {"where": pc.field("y") == 1}, {"columns": ["y"]}):
        with pytest.raises(
            InvalidFilterError, match=r"\.t has no column y, which (where|columns) names; it has id, x, ds, n"
        ):
            dataset(metastore, table.full_name, **parameters)
    with pytest.raises(InvalidFilterError, match=r"where of .*\.t: Function 'equal' has no kernel") as caught:
        dataset(metastore, table.full_name, pc.field("ds") == 1)
    assert "\n" not in str(caught.value)
