"""Every kind of statement and call that changes rows with nested values, on our tables and on one of Iceberg's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

ADDRESS = "STRUCT<zip: INT, city: STRING>"
COLUMNS = (
    f"id INT, s {ADDRESS}, l ARRAY<{ADDRESS}>, m MAP<STRING, {ADDRESS}>, d STRUCT<n: INT, o: {ADDRESS}>, "
    f"k MAP<{ADDRESS}, INT>, aa ARRAY<ARRAY<{ADDRESS}>>, ma MAP<STRING, ARRAY<{ADDRESS}>>, dec DECIMAL(5, 2)"
)
# The tables that are compared. Ours are of several kinds.
OURS = {
    "nested": f"CREATE TABLE nested ({COLUMNS}) STORED AS PARQUET",
    "parted": f"CREATE TABLE parted ({COLUMNS}) PARTITIONED BY (p INT) STORED AS ORC",
    "plain": f"CREATE TABLE plain ({COLUMNS}, p INT) USING parquet PARTITIONED BY (p)",
}
# Values whose fields have another order than the table's, other names, types or numbers.
ADDRESSES = (
    "named_struct('city', 'c', 'zip', 7)",
    "named_struct('CITY', 'd', 'Zip', 8S)",
    "named_struct('zip', 9, 'city', 5)",
    "named_struct('zip', CAST(NULL AS INT), 'city', NULL)",
    "CAST(NULL AS STRUCT<city: STRING, zip: INT>)",
    "named_struct('city', 'e', 'zip', '9')",
    "named_struct('city', 'e')",
    "named_struct('city', 'e', 'zip', 9, 'more', 1)",
    "named_struct('town', 'e', 'zip', 9)",
    "named_struct('zip', 10000000000L, 'city', 'e')",
    "'text'",
    "NULL",
)
SETTINGS = (
    {"spark.sql.storeAssignmentPolicy": "STRICT"},
    {"spark.sql.ansi.enabled": "false"},
    {"spark.sql.caseSensitive": "true"},
)
CONDITION = re.compile(r"\[([A-Z_]+(?:\.[A-Z_]+)*)\]")


class Change(NamedTuple):
    """A change of a table: its text, and a function of the session and the table's name."""

    name: str
    run: Callable[[Any, str], Any]


def whole(value: str) -> str:
    """Returns a query of one row with a value for each column, in another order than the table's."""
    return (
        f"SELECT {value} AS s, array({value}) AS l, map('k', {value}) AS m, named_struct('o', {value}, 'n', 3) AS d, "
        f"array(array({value}, NULL)) AS aa, map('k', array({value})) AS ma, "
        f"CAST(NULL AS MAP<{ADDRESS}, INT>) AS k, 1.5 AS dec, 2 AS id"
    )


def statements(value: str) -> list[str]:
    """Returns statements that assign an address to columns, to fields and to elements of table {t}."""
    merge = f"MERGE INTO {{t}} t USING ({whole(value)}) u"
    return [
        *(f"UPDATE {{t}} SET {column} = {value}" for column in ("s", "d.o", "id", "d")),
        f"UPDATE {{t}} SET l = array({value}, NULL), aa = array(array({value}), NULL)",
        f"UPDATE {{t}} SET m = map('k', {value}), ma = map('k', array({value}, NULL))",
        f"UPDATE {{t}} SET k = map({value}, 1)",
        f"UPDATE {{t}} SET d = named_struct('o', {value}, 'n', 1)",
        f"UPDATE {{t}} SET s = {value}, s.zip = 1",
        f"UPDATE {{t}} SET s = CASE WHEN id = 1 THEN {value} ELSE s END, d.o = coalesce({value}, d.o)",
        f"UPDATE {{t}} SET l = transform(array(1, 2), x -> {value}), s = (SELECT max({value}))",
        f"{merge} ON t.id = u.id WHEN MATCHED THEN UPDATE SET s = u.d.o, d.o = u.s, l = u.l",
        f"{merge} ON t.id = u.id + 8 WHEN NOT MATCHED THEN INSERT (d, id, s, ma) VALUES (u.d, 4, u.s, u.ma)",
        f"{merge} ON t.id = 99 WHEN NOT MATCHED BY SOURCE AND t.id = 1 THEN UPDATE SET s = {value}, d.n = 5",
        "DELETE FROM {t} WHERE id = 4",
        f"INSERT INTO {{t}} BY NAME {whole(value)}",
        "DELETE FROM {t} WHERE s.zip = 7 AND id = 2",
        f"INSERT INTO {{t}} (d, id, s) SELECT d, 5, s FROM ({whole(value)})",
        f"INSERT OVERWRITE {{t}} BY NAME {whole(value)}",
        f"INSERT INTO {{t}} (id, s, d) VALUES (1, {value}, named_struct('n', 1, 'o', {value}))",
    ]


def of_whole_rows(value: str) -> list[str]:
    """Returns statements that need a value for every column. {p} is the last column of a table with partitions."""
    inside = f"array({value}), map('k', {value}), named_struct('n', 3, 'o', {value})"
    values = f"2, {value}, {inside}, NULL, NULL, NULL, 1.5{{p}}"
    names = "id, s, l, m, d, k, aa, ma, dec"
    source = f"SELECT * FROM VALUES ({values}) AS v({names}{{q}})"
    merge = f"MERGE INTO {{t}} t USING ({source}) u ON t.id = u.id"
    return [
        f"{merge} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        f"INSERT INTO {{t}} REPLACE WHERE id = 2 {source}",
        f"INSERT INTO {{t}} {source}",
        "DELETE FROM {t} WHERE id = 2",
        f"INSERT OVERWRITE {{t}} {source}",
        "INSERT INTO {t} (id) VALUES (1), (3)",
    ]


MERGE_ONE = "MERGE INTO {t} t USING (SELECT 1 AS id, {value} AS s, 4 AS p) u ON t.id = u.id"
OF_PARTITIONS = [
    "UPDATE {t} SET p = 7, s = {value} WHERE id = 1",
    "UPDATE {t} SET p = '5'",
    "UPDATE {t} SET p = coalesce(s.zip, 0) % 3, l = array({value}, NULL) WHERE s.zip IS NULL OR s.zip < 5",
    (
        f"{MERGE_ONE} WHEN MATCHED THEN UPDATE SET p = u.p, d.o = u.s "
        "WHEN NOT MATCHED BY SOURCE AND t.p = 1 THEN UPDATE SET p = NULL, s = {value}"
    ),
    (
        f"{MERGE_ONE} AND t.p = u.p WHEN NOT MATCHED THEN INSERT (p, s, id) VALUES (u.p, u.s, u.id) "
        "WHEN NOT MATCHED BY SOURCE AND p = 4 THEN DELETE"
    ),
    "INSERT INTO {t} PARTITION (p = 6) BY NAME SELECT {value} AS s, 78 AS id",
    "DELETE FROM {t} WHERE p = 6 AND s.zip = 7",
    "DELETE FROM {t} WHERE p IS NULL OR p = 6",
]


def calls(value: str, last: str) -> Iterator[Change]:
    """Yields changes by data frames. `last`: the column of partitions, if there is one."""
    row = f"{whole(value)}{last}"

    def source(spark: Any) -> Any:
        return spark.sql(row)

    def merged(spark: Any, table: str) -> None:
        on = F.col(f"{table.split('.')[-1]}.id") == F.col("u.id")
        rows = source(spark).unionAll(spark.sql(row.replace("2 AS id", "9 AS id"))).alias("u")
        (
            rows.mergeInto(table, on)
            .whenMatched()
            .update({"s": F.col("u.s"), "d.o": F.col("u.s"), "l": F.col("u.l")})
            .whenNotMatched()
            .insert({"id": F.col("u.id"), "d": F.col("u.d")})
            .whenNotMatchedBySource()
            .update({"s": F.expr(value)})
            .merge()
        )

    def every_column(spark: Any, table: str) -> None:
        writer = source(spark).alias("u").mergeInto(table, F.col(f"{table.split('.')[-1]}.id") == F.col("u.id"))
        writer.whenMatched().updateAll().whenNotMatched().insertAll().merge()

    def inserted(spark: Any, table: str) -> None:
        source(spark).select(*spark.table(table).columns).write.insertInto(table)

    def appended(spark: Any, table: str) -> None:
        writer = source(spark).write.mode("append")
        (writer.partitionBy("p") if last else writer).saveAsTable(table)

    yield Change("mergeInto", merged)
    yield Change("mergeInto with all columns", every_column)
    yield Change("insertInto", inserted)
    yield Change("saveAsTable", appended)
    yield Change("append", lambda spark, table: source(spark).writeTo(table).append())
    yield Change("overwrite", lambda spark, table: source(spark).writeTo(table).overwrite(F.lit(True)))
    yield Change("overwritePartitions", lambda spark, table: source(spark).writeTo(table).overwritePartitions())


def changes(value: str, partitioned: bool) -> Iterator[Change]:
    """Yields all changes with a value."""
    last, named = (", 1", ", p") if partitioned else ("", "")
    texts = [*statements(value), *(t.replace("{p}", last).replace("{q}", named) for t in of_whole_rows(value))]
    if partitioned:
        texts += [text.replace("{value}", value) for text in OF_PARTITIONS]
    for text in texts:
        yield Change(text, lambda spark, table, text=text: spark.sql(text.replace("{t}", table)))
    yield from calls(value, ", 1 AS p" if partitioned else "")


def outcome(spark: Any, change: Change, table: str) -> tuple[str, list[str]]:
    """Returns the condition of the error, or nothing, and the rows after the change."""
    error = ""
    try:
        change.run(spark, table)
    except Exception as failure:  # noqa: BLE001 - it is compared
        found = CONDITION.search(str(failure).splitlines()[0])
        error = found[1] if found else type(failure).__name__
    return error, sorted(map(str, spark.table(table).collect()))


def compare_changes(spark: Any, theirs: str) -> list[tuple[str, str, str | None]]:
    """Makes the same changes to tables of ours and to Iceberg's. Rows and errors must be equal."""
    tried: list[tuple[str, str, str | None]] = []
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")  # Hive's
    for ours, text in OURS.items():
        partitioned = "PARTITIONED BY" in text
        spark.sql(text)
        columns, partitions = (f"{COLUMNS}, p INT", "PARTITIONED BY (p)") if partitioned else (COLUMNS, "")
        spark.sql(f"CREATE TABLE {theirs} ({columns}) USING iceberg {partitions}")
        for name in (ours, theirs):
            spark.sql(f"INSERT INTO {name} (id) VALUES (1), (3)")
        values = ADDRESSES if ours == "nested" else ADDRESSES[:1]
        tried += compared(spark, ours, theirs, (change for value in values for change in changes(value, partitioned)))
        for setting in SETTINGS if ours == "nested" else ():
            for key, value in setting.items():
                spark.conf.set(key, value)
            some = (change for value in ADDRESSES[1:6:2] for change in list(changes(value, partitioned))[::3])
            found = compared(spark, ours, theirs, some)
            tried += [(group, f"{setting}: {name}", error) for group, name, error in found]
            for key in setting:
                spark.conf.unset(key)
        for name in (ours, theirs):
            spark.sql(f"DROP TABLE {name}")
    return tried


def compared(spark: Any, ours: str, theirs: str, changes: Iterable[Change]) -> Iterator[tuple[str, str, str | None]]:
    for change in changes:
        if spark.version < "4" and change.name in {each.name for each in calls("NULL", "")}:
            continue  # before Spark 4.0, some of these calls do not reach tables of the session catalog
        actual, wanted = (outcome(spark, change, name) for name in (ours, theirs))
        error = None if actual == wanted else f"{actual} instead of {wanted}"
        yield (f"changes of {ours}", change.name, error)
        if error:  # later changes begin with equal rows again
            spark.sql(f"DELETE FROM {ours}")
            spark.sql(f"INSERT INTO {ours} SELECT * FROM {theirs}")
