"""INSERT: the directory of each row, the metastore's entries, and what stays after an overwrite."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from metastore.client.structs import NOT_SKEWED, PublishMode, Skew, Table
from metastore.domain.partition_names import DEFAULT_PARTITION
from spark_client import errors
from spark_client.context import Context
from spark_client.jvm.files import MARK
from spark_client.write.insert import insert_into
from tests.spark.tables import (
    DEFAULT,
    ORC,
    Storage,
    change_skew,
    directories,
    files_below,
    folder,
    frame,
    layout,
    make_table,
    skewed,
    stored_rows,
)


def insert(context: Context, name: str, data: Any, clause: dict[str, str | None] | None = None, **options: Any) -> Any:
    """Runs INSERT INTO, or INSERT OVERWRITE."""
    options.setdefault("overwrite", False)
    return insert_into(context, f"default.{name}", data, partition=clause or {}, **options)


def now(context: Context, name: str) -> str:
    """Returns the location of an unpartitioned table."""
    return context.metastore.get_table("default", name).location or ""


def test_each_heavy_value_has_a_directory(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id bigint, x string", "m int", skew=skewed("x", "A", "b/c"))
    data = frame(
        context.spark,
        "id long, x string, m int",
        (1, "A", 1), (2, "a", 1), (3, None, 1), (4, "b/c", 2), (5, "A", 2), (6, "", 2),
    )  # fmt: skip
    result = insert(context, table_name, data)
    assert table.location is not None
    assert layout(table.location) == {
        "m=1/x=A": 1,
        f"m=1/{DEFAULT}": 1,
        "m=2/x=A": 1,
        "m=2/x=b%2Fc": 1,
        f"m=2/{DEFAULT}": 1,
    }
    one, two = context.metastore.get_partitions("default", table_name)
    assert one.skew.locations == {("A",): f"{one.location}/x=A"}
    assert two.skew.locations == {("A",): f"{two.location}/x=A", ("b/c",): f"{two.location}/x=b%2Fc"}
    assert (one.parameters["numRows"], one.parameters["numFiles"]) == ("3", "2")
    assert int(two.parameters["totalSize"]) == result.partitions[1].bytes > 0
    assert (result.rows, result.files, [p.directories for p in result.partitions]) == (6, 5, [2, 3])
    assert stored_rows(context, table) == [
        (1, "A", "1"), (2, "a", "1"), (3, None, "1"), (4, "b/c", "2"), (5, "A", "2"), (6, "", "2"),
    ]  # fmt: skip


def data_files(table: Table) -> list[str]:
    """Lists the files without checksums, and without those that only Spark reads."""
    return [name for name in files_below(table.location or "") if not name.endswith(".crc") and MARK not in name]


def test_an_append_adds_files_where_the_values_are(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id bigint, x int", "m int", skew=skewed("x", "7", "8"))
    insert(context, table_name, frame(context.spark, "id long, x int, m int", (1, 7, 1), (2, 0, 1)))
    data = frame(context.spark, "id long, x int, m int", (3, 7, 1), (4, 8, 1), (5, 7, 2))
    result = insert(context, table_name, data)
    assert [p.mode for p in result.partitions] == [PublishMode.APPEND, PublishMode.CREATE]
    one, two = context.metastore.get_partitions("default", table_name)
    assert [p.location for p in (one, two)] == [f"{table.location}/m=1", f"{table.location}/m=2"]
    assert directories(one) == {"x=7": 2, "x=8": 1, DEFAULT: 1}
    assert directories(two) == {"x=7": 1}
    assert (one.parameters["numRows"], one.parameters["numFiles"]) == ("4", "4")
    assert len(stored_rows(context, table)) == 5
    insert(context, table_name, frame(context.spark, "id long, x int, m int", (6, 0, 1), (7, 8, 1)))
    one, two = context.metastore.get_partitions("default", table_name)
    assert directories(one) == {"x=7": 2, "x=8": 2, DEFAULT: 2}
    assert (one.parameters["numRows"], one.parameters["numFiles"]) == ("6", "6")
    assert [row[0] for row in stored_rows(context, table)] == [1, 2, 3, 4, 5, 6, 7]
    assert len(data_files(table)) == 7


def test_overwriting_swaps_only_the_partitions_that_receive_rows(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id bigint, x int", "m int", skew=skewed("x", "7"))
    insert(context, table_name, frame(context.spark, "id long, x int, m int", (1, 7, 1), (2, 0, 1), (3, 7, 2)))
    before = files_below(table.location or "")
    result = insert(context, table_name, frame(context.spark, "id long, x int, m int", (9, 0, 1)), overwrite=True)
    assert stored_rows(context, table) == [(3, 7, "2"), (9, 0, "1")]
    one, two = context.metastore.get_partitions("default", table_name)
    assert one.location == f"{table.location}/_versions/{result.query_id}/m=1"
    assert one.skew.locations == {}
    assert one.parameters["numRows"] == "1"
    assert two.location == f"{table.location}/m=2"
    insert(context, table_name, frame(context.spark, "id long, x int, m int", (10, 7, 1)), overwrite=True)
    assert stored_rows(context, table) == [(10, 7, "1"), (3, 7, "2")]
    # Running readers still find the files that they planned to read.
    assert before <= files_below(table.location or "")


def test_a_table_can_be_overwritten_from_itself(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id bigint, x int", "m int", skew=skewed("x", "7"))
    insert(context, table_name, frame(context.spark, "id long, x int, m int", (1, 7, 1), (2, 0, 1)))
    paths = [f"{table.location}/m=1/x=7", f"{table.location}/m=1/{DEFAULT}"]
    data = context.spark.read.parquet(*paths).selectExpr("id + 10", "x", "1")
    insert(context, table_name, data, overwrite=True)
    assert stored_rows(context, table) == [(11, 7, "1"), (12, 0, "1")]


def test_static_overwrite_with_nothing_empties_the_partition(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id bigint, x int", "m int", skew=skewed("x", "7"))
    nothing = frame(context.spark, "id long, x int", (1, 7)).where("id > 1")
    insert(context, table_name, frame(context.spark, "id long, x int", (1, 7)), {"m": "01"})
    insert(context, table_name, nothing, {"m": "1"}, overwrite=True)
    insert(context, table_name, nothing, {"m": "2"})
    assert stored_rows(context, table) == []
    assert [p.values for p in context.metastore.get_partitions("default", table_name)] == [("1",), ("2",)]
    everywhere = frame(context.spark, "id long, x int, m int", (1, 7, 1)).where("id > 1")
    assert insert(context, table_name, everywhere, overwrite=True).partitions == ()


def test_static_and_dynamic_partitions_mix(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id bigint", "ds date, hr string")
    data = frame(context.spark, "id long, hr string", (1, "a/b"), (2, "x=1"), (3, "ä"), (4, "50%"), (5, None), (6, ""))
    insert(context, table_name, data, {"HR": None, "ds": "2024-1-5"})
    partitions = context.metastore.get_partitions("default", table_name)
    assert {p.values for p in partitions} == {
        ("2024-01-05", value) for value in ("a/b", "x=1", "ä", "50%", DEFAULT_PARTITION)
    }
    assert set(layout(table.location or "")) == {
        f"ds=2024-01-05/hr={name}" for name in ("a%2Fb", "x%3D1", "ä", "50%25", DEFAULT_PARTITION)
    }
    insert(context, table_name, frame(context.spark, "id long", (7,)), {"ds": "2024-01-05", "hr": "50%"})
    insert(context, table_name, frame(context.spark, "id long", (8,)), {"ds": "2024-01-05", "hr": ""}, overwrite=True)
    rows = [(row[0], row[2]) for row in stored_rows(context, table)]
    assert rows == [(1, "a/b"), (2, "x=1"), (3, "ä"), (4, "50%"), (7, "50%"), (8, DEFAULT_PARTITION)]


def test_if_not_exists_leaves_an_existing_partition(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id bigint", "m int")
    for number in (1, 2):
        data = frame(context.spark, "id long", (number,))
        insert(context, table_name, data, {"m": "1"}, overwrite=True, if_not_exists=True)
    assert stored_rows(context, table) == [(1, "1")]


def test_two_skew_columns(context: Context, table_name: str) -> None:
    skew = skewed("y,x", ("a", "1"), ("b=", "2"))
    table = make_table(context.metastore, table_name, "x int, id bigint, y string", skew=skew)
    data = frame(
        context.spark, "x int, id long, y string",
        (1, 1, "a"), (2, 2, "a"), (2, 3, "b="), (None, 4, "a"), (1, 5, None),
    )  # fmt: skip
    insert(context, table_name, data)
    assert layout(now(context, table_name)) == {f"{DEFAULT}/{DEFAULT}": 1, "y=a/x=1": 1, "y=b%3D/x=2": 1}
    skew = context.metastore.get_table("default", table_name).skew
    assert set(skew.locations) == {("a", "1"), ("b=", "2")}
    assert len(stored_rows(context, table)) == 5


def test_values_are_compared_by_type(context: Context, table_name: str) -> None:
    declared = skewed("d,day", ("1.5", "2024-01-31"), ("02", "2024-02-01"), ("rubbish", "2024-03-01"))
    table = make_table(context.metastore, table_name, "d decimal(10,2), day date", skew=declared)
    rows = [
        (Decimal("1.50"), date(2024, 1, 31)),
        (Decimal("2.00"), date(2024, 2, 1)),
        (None, date(2024, 3, 1)),
        (Decimal("1.50"), date(2024, 2, 1)),
    ]
    insert(context, table_name, frame(context.spark, "d decimal(10,2), day date", *rows))
    assert layout(now(context, table_name)) == {
        f"{DEFAULT}/{DEFAULT}": 1,
        "d=1.5/day=2024-01-31": 1,
        "d=02/day=2024-02-01": 1,
    }
    assert {(row[0], row[1]) for row in stored_rows(context, table)} == set(rows)


def test_null_has_a_directory_only_where_it_is_declared(context: Context, table_name: str) -> None:
    skew = skewed("x", "", DEFAULT_PARTITION, "a")
    table = make_table(context.metastore, table_name, "x string", skew=skew)
    insert(context, table_name, frame(context.spark, "x string", (None,), ("",), ("a",), ("b",)))
    places = context.metastore.get_table("default", table_name).skew.locations
    assert len(set(places.values())) == 3
    read = {value: context.spark.read.parquet(location).collect() for value, location in places.items()}
    assert {value: rows[0][0] for value, rows in read.items()} == {("",): "", (DEFAULT_PARTITION,): None, ("a",): "a"}
    assert len(stored_rows(context, table)) == 4


def test_char_columns(context: Context, table_name: str) -> None:
    make_table(context.metastore, table_name, "x char(4), y varchar(3)", skew=skewed("x,y", ("ab", "cd")))
    insert(context, table_name, frame(context.spark, "x string, y string", ("ab", "cd"), ("abc", "cd")))
    assert layout(now(context, table_name)) == {f"{DEFAULT}/{DEFAULT}": 1, "x=ab/y=cd": 1}
    with pytest.raises(errors.WriteFailedError, match="varchar type length limitation: 3"):
        insert(context, table_name, frame(context.spark, "x string, y string", ("ab", "too long")))


def test_an_append_follows_the_partitions_own_skew(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id bigint, x int", "m int", skew=skewed("x", "7"))
    insert(context, table_name, frame(context.spark, "id long, x int, m int", (1, 7, 1)))
    change_skew(context.metastore, table, skewed("x", "8"))
    insert(context, table_name, frame(context.spark, "id long, x int, m int", (2, 7, 2), (3, 8, 2)))
    change_skew(context.metastore, table, NOT_SKEWED)
    rows = [(number, x, m) for number, (x, m) in enumerate([(x, m) for x in (7, 8) for m in (1, 2, 3)], start=10)]
    insert(context, table_name, frame(context.spark, "id long, x int, m int", *rows))
    one, two, three = context.metastore.get_partitions("default", table_name)
    assert directories(one) == {"x=7": 2, DEFAULT: 1}
    assert directories(two) == {"x=8": 2, DEFAULT: 2}
    assert directories(three) == {"": 1}
    assert len(stored_rows(context, table)) == 9
    insert(context, table_name, frame(context.spark, "id long, x int", (99, 7)), {"m": "1"}, overwrite=True)
    assert [row[0] for row in stored_rows(context, table) if row[2] == "1"] == [99]
    assert not context.metastore.get_partitions("default", table_name)[0].skew.is_list_bucketed


def test_an_append_uses_the_directory_of_the_value(context: Context, table_name: str, tmp_path: Any) -> None:
    elsewhere = f"file:{tmp_path}/elsewhere"
    skew = Skew(("x",), (("7",),), {("7",): elsewhere}, directories=True)
    table = make_table(context.metastore, table_name, "id bigint, x int", skew=skew)
    change_skew(context.metastore, table, skew)
    frame(context.spark, "id long, x int", (0, 7)).write.parquet(elsewhere)
    insert(context, table_name, frame(context.spark, "id long, x int", (1, 7), (2, 8)))
    assert stored_rows(context, table) == [(0, 7), (1, 7), (2, 8)]
    assert layout(elsewhere) == {"": 3}


@pytest.mark.parametrize(
    ("storage", "properties", "suffix"),
    [
        (None, {"parquet.compression": "GZIP"}, ".gz.parquet"),
        (None, {"parquet.compression": "zstd"}, ".zstd.parquet"),
        (ORC, {"orc.compress": "ZLIB"}, ".zlib.orc"),
        (ORC, {"orc.compress": "NONE"}, "000.orc"),
    ],
)
def test_formats_and_their_compression(
    context: Context, table_name: str, storage: Storage | None, properties: dict[str, str], suffix: str
) -> None:
    more = {} if storage is None else {"storage": storage}
    skew = skewed("x", "a")
    table = make_table(context.metastore, table_name, "x string", "m int", skew=skew, parameters=properties, **more)
    insert(context, table_name, frame(context.spark, "x string, m int", ("a", 1), ("b", 1)))
    names = data_files(table)
    assert len(names) == 2
    assert all(name.endswith(suffix) for name in names)
    assert stored_rows(context, table) == [("a", "1"), ("b", "1")]


def test_unpartitioned_tables_are_overwritten_and_appended_to(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id bigint, x int", skew=skewed("x", "7"))
    for round_ in range(3):
        insert(context, table_name, frame(context.spark, "id long, x int", (round_, 7), (-1, 0)), overwrite=True)
        insert(context, table_name, frame(context.spark, "id long, x int", (round_ + 10, 7)))
        assert stored_rows(context, table) == sorted([(-1, 0), (round_, 7), (round_ + 10, 7)], key=repr)
    latest = context.metastore.get_table("default", table_name)
    assert layout(latest.location or "") == {DEFAULT: 1, "x=7": 2}
    assert latest.skew.locations == {("7",): f"{latest.location}/x=7"}


def test_a_plain_table_is_written_without_helper_directories(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id bigint, skewed_directory int", "m int")
    insert(context, table_name, frame(context.spark, "id long, d int, m int", (1, 5, 1), (2, 6, 2)))
    assert layout(table.location or "") == {"m=1": 1, "m=2": 1}
    assert stored_rows(context, table) == [(1, 5, "1"), (2, 6, "2")]


def test_foreign_files_in_the_way_are_left_alone(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id bigint", "m int")
    foreign = folder(table.location or "") / "m=1" / "foreign.txt"
    foreign.parent.mkdir()
    foreign.write_text("mine")
    insert(context, table_name, frame(context.spark, "id long, m int", (1, 1)))
    assert foreign.read_text() == "mine"
    assert "/_versions/" in context.metastore.get_partitions("default", table_name)[0].location
    assert stored_rows(context, table) == [(1, "1")]


def test_a_column_list_places_columns_and_fills_with_null(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id bigint, x string, y int", "m int")
    data = frame(context.spark, "a int, b long, c string", (1, 5, "five"))
    insert(context, table_name, data, columns=["M", "id", "x"])
    assert stored_rows(context, table) == [(5, "five", None, "1")]


def test_columns_are_taken_by_position_and_cast(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id bigint, x decimal(10,2)", "m string")
    data = context.spark.sql("SELECT CAST(3 AS TINYINT) AS x, 2 AS x, DATE'2024-01-31' AS `odd.name`")
    insert(context, table_name, data)
    assert stored_rows(context, table) == [(3, Decimal("2.00"), "2024-01-31")]


@pytest.mark.parametrize(
    ("sql", "clause", "kind", "text"),
    [
        ("SELECT 1", {}, errors.InvalidInsertError, "has 3 columns, but query has 1 columns."),
        ("SELECT 'a', 'b', 1", {}, errors.InvalidInsertError, 'Cannot safely cast `id` "STRING" to "BIGINT"'),
        ("SELECT 1, 'b'", {"m": "x"}, errors.InvalidInsertError, "Cannot add partition column m of type string as it"),
        ("SELECT 1, 'b', 1", {"hr": None}, errors.InvalidInsertError, "contains non-partition columns"),
        ("SELECT 1, 'b', shiftleft(1L, 40)", {}, errors.WriteFailedError, "[CAST_OVERFLOW_IN_TABLE_INSERT]"),
        ("SELECT 1, raise_error('poison'), 1", {}, errors.WriteFailedError, "poison"),
    ],
)
def test_values_that_do_not_fit_are_rejected_in_one_line(
    context: Context, table_name: str, sql: str, clause: dict[str, str | None], kind: type[Exception], text: str
) -> None:
    table = make_table(context.metastore, table_name, "id bigint, x string", "m int", skew=skewed("x", "a"))
    with pytest.raises(kind) as caught:
        insert(context, table_name, context.spark.sql(sql), clause, overwrite=True)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
    assert files_below(table.location or "") == set()
    assert context.metastore.get_partitions("default", table_name) == ()


def test_too_many_dynamic_partitions(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id bigint", "m int")
    context.spark.conf.set("hive.exec.max.dynamic.partitions", "2")
    try:
        with pytest.raises(errors.InvalidInsertError, match=r"is 3, which is more than 2.*to at least 3\."):
            insert(context, table_name, context.spark.range(3).selectExpr("id", "CAST(id AS INT)"))
    finally:
        context.spark.conf.unset("hive.exec.max.dynamic.partitions")
    assert files_below(table.location or "") == set()


def test_tables_that_cannot_be_written(context: Context, table_name: str) -> None:
    text = Storage("org.apache.hadoop.mapred.TextInputFormat", "o", "s")
    data = frame(context.spark, "id long", (1,))
    with pytest.raises(errors.NoSuchTableError, match=table_name):
        insert(context, table_name, data)
    make_table(context.metastore, table_name, "id bigint", storage=text)
    with pytest.raises(errors.InvalidInsertError, match="only Parquet and ORC can be written"):
        insert(context, table_name, data)


def test_the_order_of_the_query_is_kept(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id bigint, x int", skew=skewed("x", "7"))
    insert(context, table_name, context.spark.range(1000).selectExpr("id", "7").orderBy("id", ascending=False))
    (file,) = (path for path in folder(table.location or "").rglob("x=7/*.parquet"))
    ids = [row[0] for row in context.spark.read.parquet(str(file)).coalesce(1).collect()]
    assert ids == list(range(999, -1, -1))


def test_plain_sql_reads_rows_that_plain_sql_wrote(context: Context, table_name: str) -> None:
    spark = context.spark
    spark.sql(
        f"CREATE TABLE {table_name} (id BIGINT, x STRING, d DECIMAL(10,2)) PARTITIONED BY (p STRING, m INT) "
        "SKEWED BY (x) ON ('a/b', 'x=1', 'ä', '50%', 'plain') STORED AS DIRECTORIES STORED AS PARQUET"
    )
    odd = ["a/b", "x=1", "ä", "50%", "plain", "[*]{?}", "rare", None, ""]
    rows = [
        (number, x, Decimal(number) / 4, p, m)
        for number, (x, p, m) in enumerate((x, p, m) for x in odd for p in odd[:-1] for m in (1, 2))
    ]
    frame(spark, "id long, x string, d decimal(10,2), p string, m int", *rows).createOrReplaceTempView("odd_rows")
    spark.sql(f"INSERT OVERWRITE {table_name} PARTITION (p, m) SELECT * FROM odd_rows WHERE id % 3 = 0")
    spark.sql(f"INSERT INTO {table_name} SELECT * FROM odd_rows WHERE id % 3 = 1")
    spark.sql(f"INSERT INTO {table_name} PARTITION (p, m) SELECT * FROM odd_rows WHERE id % 3 = 2")
    assert sorted(map(tuple, spark.table(table_name).collect())) == rows
    for column, location in (("x", 1), ("p", 3)):
        wanted = {text: "IS NULL" if text is None else f"= '{text}'" for text in odd}
        queries = [
            f"SELECT {number} AS query, id FROM {table_name} WHERE {column} {wanted[text]}"
            for number, text in enumerate(odd)
        ]
        actual = [tuple(row) for row in spark.sql(" UNION ALL ".join(queries)).collect()]
        assert sorted(actual) == [
            (number, row[0]) for number, text in enumerate(odd) for row in rows if row[location] == text
        ], column
    spark.sql(f"DROP TABLE {table_name}")


def test_a_heavy_value_is_written_by_several_tasks(context: Context, table_name: str) -> None:
    make_table(context.metastore, table_name, "id bigint, x int, pad string", "m int", skew=skewed("x", "7"))
    data = context.spark.range(40000, numPartitions=4).selectExpr("id", "7", "sha2(string(id), 512)", "1")
    previous = context.spark.conf.get("spark.sql.adaptive.advisoryPartitionSizeInBytes")
    context.spark.conf.set("spark.sql.adaptive.advisoryPartitionSizeInBytes", "1m")
    try:
        (partition,) = insert(context, table_name, data).partitions
    finally:
        context.spark.conf.set("spark.sql.adaptive.advisoryPartitionSizeInBytes", previous)
    assert (partition.rows, partition.directories) == (40000, 1)
    assert partition.files > 1
