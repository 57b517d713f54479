"""Filters on partition columns that only Spark can evaluate: the result is right, and the metastore lists only matching
partitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from pyspark.errors import PySparkException

from metastore.client import MetastoreClient
from metastore.client.structs import ScanValues
from spark_client import Session
from tests.fixtures.server import Server, connected
from tests.wire.builders import descriptor, new_table, partition
from thrift_idl.gen.hive_metastore.ttypes import DropPartitionsRequest, RequestPartsSpec

DEFAULT = "__HIVE_DEFAULT_PARTITION__"
TYPES = {"ds": "string", "hr": "int", "t": "timestamp"}
DAYS = ["2024-01-05", " 2024-01-05", "2024-1-5", "2024-02-30", "20240105", "x", DEFAULT, "a'b\\c", "é😀", "null"]
HOURS = ["1", "01", "-2", "10", DEFAULT]
TIMES = ["2024-01-05 10:00:00", "2024-01-05 10:00:00.5", "2024-07-05 00:30:00", DEFAULT]
PARTITIONS = [
    [ds, hr, TIMES[(i + j) % len(TIMES)]] for i, ds in enumerate(DAYS) for j, hr in enumerate(HOURS) if (i + j) % 3
]
MANY = ", ".join(f"'{number}é😀'" for number in range(500))
# On one column each: the metastore lists exactly the matching partitions.
OF_ONE = [
    "substr(ds, 1, 7) = '2024-01'",
    "ds LIKE '2024-01-05%'",
    "ds LIKE '%-05'",
    "NOT (ds LIKE '2024%')",
    "ds RLIKE '^2024-0?1'",
    "upper(ds) = 'X'",
    "trim(ds) = '2024-01-05' OR length(ds) = 1",
    "coalesce(ds, '?') = '?'",
    f"ds || '' IN ('é😀', {MANY})",
    "try_cast(ds AS DATE) = DATE'2024-01-05'",
    "date_format(try_cast(ds AS DATE), 'yyyy-MM') = '2024-01'",
    "hr % 2 = 1",
    "coalesce(hr, 5) = 5",
    "CAST(hr AS STRING) = '1'",
    "hour(t) = 10 AND second(t) = 0",
    "t >= TIMESTAMP'2024-07-05 00:00:00 UTC'",
    "t IN (TIMESTAMP'2024-01-05 10:00:00', NULL)",
    "CAST(t AS STRING) LIKE '%:00'",
    "t IS NULL AND upper(ds) <> 'X' AND hr % 2 = 0",
]
OF_SEVERAL = [
    "concat(ds, ' ', lpad(hr, 2, '0')) BETWEEN '2024-01-05 00' AND '2024-01-05 09'",
    "ds <=> NULL OR hr % 2 = 1",
    "if(ds IS NULL, hr = 1, upper(ds) > 'B')",
    "hash(ds, hr, t) % 3 = 0",
    "day(t) = hr + 4",
    "ds = CAST(hr AS STRING) OR ds < 'a' AND hr + 0 > 0",
]
# Errors in ANSI mode are null in the other mode.
NOT_ANSI = [
    "ds = DATE'2024-01-05'",
    "to_date(ds) BETWEEN DATE'2024-01-01' AND DATE'2024-01-31'",
    "year(ds) = 2024",
    "ds = 20240105",
    "CAST(ds AS INT) IS NULL",
]


@pytest.fixture(scope="module")
def days(spark: Session, metastore_server: Server, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table with one row in each of PARTITIONS, all in the same file."""
    folder = f"{tmp_path_factory.mktemp('partition_filters')}/rows"
    spark.sql("SELECT 1 AS a, 'x' AS x").coalesce(1).write.parquet(folder)
    with connected(metastore_server) as client:
        database, name = new_table(client, list(TYPES.items()))
        sd = descriptor(f"file:{folder}")
        client.add_partitions([partition(database, name, values, sd=sd) for values in PARTITIONS])
    return f"{database}.{name}"


@pytest.fixture(params=[("true", "America/New_York"), ("false", "UTC")], ids=["ansi", "not ansi"])
def ansi(request: pytest.FixtureRequest, spark: Session) -> Iterator[bool]:
    settings = dict(zip(("spark.sql.ansi.enabled", "spark.sql.session.timeZone"), request.param, strict=True))
    before = {key: spark.conf.get(key) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield request.param[0] == "true"
    for key, value in before.items():
        spark.conf.set(key, value)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Returns a list that receives the number of partitions of each plan."""
    counts: list[int] = []
    plan_scan = MetastoreClient.plan_scan

    def counting(self: MetastoreClient, *args: Any, **options: Any) -> Any:
        plan = plan_scan(self, *args, **options)
        counts.append(len(plan.partitions))
        return plan

    monkeypatch.setattr(MetastoreClient, "plan_scan", counting)
    return counts


def _matching(spark: Session, predicates: Sequence[str]) -> list[list[str]]:
    """Returns the rows of each predicate, evaluated for the values of each partition."""
    typed = ", ".join(f"CAST(nullif({name}, '{DEFAULT}') AS {kind}) AS {name}" for name, kind in TYPES.items())
    conditions = ", ".join(f"({predicate}) AS p{number}" for number, predicate in enumerate(predicates))
    spark.createDataFrame(PARTITIONS, list(TYPES)).coalesce(1).createOrReplaceTempView("partition_texts")
    rows = spark.sql(f"SELECT ds, hr, t, {conditions} FROM (SELECT {typed} FROM partition_texts)").collect()
    spark.catalog.dropTempView("partition_texts")
    return [sorted(repr(row[:3]) for row in rows if row[3 + number]) for number in range(len(predicates))]


def _read(spark: Session, table: str, predicate: str) -> list[str]:
    return sorted(repr(tuple(row)) for row in spark.sql(f"SELECT ds, hr, t FROM {table} WHERE {predicate}").collect())


def test_matching_partitions_are_read_and_few_others_are_listed(
    spark: Session, days: str, ansi: bool, told: list[int]
) -> None:
    predicates = [*OF_ONE, *OF_SEVERAL, *([] if ansi else NOT_ANSI)]
    for predicate, rows in zip(predicates, _matching(spark, predicates), strict=True):
        del told[:]
        assert _read(spark, days, predicate) == rows, predicate
        assert rows, predicate
        # For filters on several columns, the client tells the metastore which values of each column do not matter.
        assert told == [len(rows)] or predicate in OF_SEVERAL, predicate


@pytest.mark.parametrize("ansi", [("true", "UTC")], ids=["ansi"], indirect=True)
def test_filters_that_cannot_be_evaluated_fail_only_if_evaluated(spark: Session, days: str, ansi: bool) -> None:
    assert ansi
    with pytest.raises(PySparkException, match="CAST_INVALID_INPUT"):
        _read(spark, days, "ds = DATE'2024-01-05'")
    assert len(_read(spark, days, "ds LIKE '2024-0_-05' AND ds = DATE'2024-01-05'")) == sum(
        values[0] == "2024-01-05" for values in PARTITIONS
    )


@pytest.mark.parametrize("predicate", ["upper(ds) = 'LATER'", "upper(ds) || hr IN ('LATER0', 'LATER8', 'LATER7')"])
@pytest.mark.parametrize("times", [1, 9])
def test_a_partition_that_is_added_meanwhile_is_found(
    spark: Session, metastore_server: Server, days: str, monkeypatch: pytest.MonkeyPatch, times: int, predicate: str
) -> None:
    """Values that are added after the evaluation are not excluded, even if partitions are added all the time."""
    scan_values, left = MetastoreClient.scan_values, list(range(times))
    database, _, name = days.partition(".")

    def adding(self: MetastoreClient, *args: Any) -> ScanValues:
        values = scan_values(self, *args)
        if left:
            with connected(metastore_server) as client:
                sd = client.get_partition(database, name, PARTITIONS[0]).sd
                client.add_partitions([partition(database, name, ["Later", str(left.pop()), DEFAULT], sd=sd)])
        return values

    monkeypatch.setattr(MetastoreClient, "scan_values", adding)
    actual = _read(spark, days, predicate)
    monkeypatch.undo()
    with connected(metastore_server) as client:
        added = client.get_partitions_ps(database, name, ["Later"], -1)
        client.drop_partitions_req(
            DropPartitionsRequest(
                database, name, RequestPartsSpec(names=[f"ds=Later/hr={p.values[1]}/t={DEFAULT}" for p in added])
            )
        )
    assert actual == sorted(f"('Later', {each.values[1]}, None)" for each in added)
    assert len(added) == min(times, 2)
