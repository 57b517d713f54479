"""OpenLineage's events of statements: what they read and write, and collectors that do not answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.generated.base_subset_dataset import (
    InputSubsetInputDatasetFacet,
    OutputSubsetOutputDatasetFacet,
    Partition,
    PartitionSubsetCondition,
)
from openlineage.client.generated.error_message_run import ErrorMessageRunFacet
from openlineage.client.generated.job_type_job import JobTypeJobFacet
from openlineage.client.generated.lifecycle_state_change_dataset import (
    LifecycleStateChange,
    LifecycleStateChangeDatasetFacet,
)
from openlineage.client.generated.output_statistics_output_dataset import OutputStatisticsOutputDatasetFacet
from openlineage.client.generated.tags_run import TagsRunFacet, TagsRunFacetFields
from openlineage.client.serde import Serde

from spark_client import Session
from spark_client.context import Context
from spark_client.errors import PartitionExistsError, WriteFailedError
from spark_client.statements.run import concatenate
from tests.spark.tables import make_table
from tests.wire.builders import unique


class Collector:
    """A collector of OpenLineage. `events` are those that it has taken."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.changed = threading.Condition()
        self.url = ""

    def wait(self, count: int) -> list[dict[str, Any]]:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.events) >= count, 60), self.events
            return self.events

    def run(self, act: Callable[[], object]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Does something that is one run. Returns its two events, which OpenLineage's client could have sent."""
        known = len(self.events)
        act()
        first, last = self.wait(known + 2)[known:]
        assert first["run"]["runId"] == last["run"]["runId"]
        assert first["eventType"] == "START"
        for event in (first, last):
            assert Serde.to_dict(rebuilt(event)) == event
        return first, last


FACETS: dict[str, type] = {
    "jobType": JobTypeJobFacet,
    "errorMessage": ErrorMessageRunFacet,
    "outputStatistics": OutputStatisticsOutputDatasetFacet,
}


def rebuilt(event: dict[str, Any]) -> RunEvent:
    """Builds the client's object field by field. Unknown and missing fields raise an error."""
    given = dict(event)
    assert given.pop("schemaURL") == RunEvent._get_schema()
    given["eventType"] = RunState[given["eventType"]]
    for name, class_ in (("run", Run), ("job", Job)):
        given[name] = class_(**given[name] | {"facets": facets(given[name]["facets"])})
    for name, class_, own in (("inputs", InputDataset, "inputFacets"), ("outputs", OutputDataset, "outputFacets")):
        given[name] = [
            class_(**each | {"facets": facets(each["facets"]), own: facets(each[own])}) for each in given[name]
        ]
    return RunEvent(**given)


def facets(given: dict[str, Any]) -> dict[str, Any]:
    return {name: _facet(name, dict(facet)) for name, facet in given.items()}


def _facet(name: str, given: dict[str, Any]) -> Any:
    producer, schema = given.pop("_producer"), given.pop("_schemaURL")
    if name == "lifecycleStateChange":
        made: Any = LifecycleStateChangeDatasetFacet(LifecycleStateChange(given[name]), producer=producer)
    elif name == "tags":  # the client adds its version
        made = TagsRunFacet([TagsRunFacetFields(**each) for each in given[name]], producer=producer)
    elif name == "subset":
        ((condition, kind),) = [(each, given[each]) for each in given]
        partitions = PartitionSubsetCondition([Partition(**each) for each in kind["partitions"]], kind["type"])
        side = InputSubsetInputDatasetFacet if condition == "inputCondition" else OutputSubsetOutputDatasetFacet
        made = side(partitions, producer=producer)
    else:
        made = FACETS[name](**given, producer=producer)
    assert made._get_schema() == schema
    return made


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/api/v1/lineage"
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with collector.changed:
                collector.events.append(body)
                collector.changed.notify_all()
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        monkeypatch.setenv("OPENLINEAGE_URL", f"http://127.0.0.1:{server.server_address[1]}")
        yield collector
        server.shutdown()
        thread.join()


def test_an_insert_tells_what_it_reads_and_writes(context: Context, table_name: str, collector: Collector) -> None:
    for name in (f"{table_name}_a", f"{table_name}_b", table_name):
        make_table(context.metastore, name, "id bigint", "m int")
    spark = context.spark
    spark.sql(f"INSERT INTO {table_name}_a VALUES (1, 1), (2, 1), (3, 2)")
    spark.sql(
        f"INSERT INTO {table_name} SELECT * FROM {table_name}_a WHERE id IN (SELECT id FROM {table_name}_b) OR id > 1"
    )
    first, _, start, complete = collector.wait(4)
    address = context.metastore.addresses[0]
    hive = f"hive://{address.host}:{address.port}"

    def names(datasets: list[dict[str, Any]]) -> set[tuple[str, str]]:
        return {(each["namespace"], each["name"]) for each in datasets}

    assert (first["eventType"], first["inputs"]) == ("START", [])
    assert [each["eventType"] for each in (start, complete)] == ["START", "COMPLETE"]
    assert start["run"]["runId"] == complete["run"]["runId"] != first["run"]["runId"]
    for event in (start, complete):
        assert names(event["inputs"]) == {(hive, f"default.{table_name}_a"), (hive, f"default.{table_name}_b")}
        assert names(event["outputs"]) == {(hive, f"default.{table_name}")}
        assert (event["job"]["namespace"], event["job"]["name"]) == (hive, f"tests.default.{table_name}")
    (output,) = complete["outputs"]
    statistics = output["outputFacets"]["outputStatistics"]
    assert (statistics["rowCount"], statistics["fileCount"] > 0, statistics["size"] > 0) == (2, True, True)


def test_an_insert_that_fails_tells_so(context: Context, table_name: str, collector: Collector) -> None:
    make_table(context.metastore, table_name, "id bigint", "m int")
    with pytest.raises(Exception, match="boom"):
        context.spark.sql(f"INSERT INTO {table_name} SELECT CAST(raise_error('boom') AS BIGINT), 1")
    assert [event["eventType"] for event in collector.wait(2)] == ["START", "FAIL"]


ON = "ON t.id = s.id"
CASES = {
    "INSERT OVERWRITE t SELECT * FROM a": ("INSERT", "a", 2, "OVERWRITE"),
    "UPDATE t SET m = (SELECT max(m) FROM b) WHERE id > 1": ("UPDATE", "bt", 3, None),
    "UPDATE t SET m = 7 WHERE id = 99": ("UPDATE", "t", None, None),
    "DELETE FROM t WHERE id IN (SELECT id FROM b)": ("DELETE", "bt", 2, None),
    f"MERGE INTO t USING a s {ON} WHEN MATCHED THEN UPDATE SET m = s.m": ("MERGE", "at", 3, None),
    f"MERGE INTO t USING a s {ON} WHEN MATCHED AND s.m < (SELECT max(m) FROM b) THEN DELETE "
    "WHEN NOT MATCHED THEN INSERT *": ("MERGE", "abt", 3, None),
    f"MERGE INTO t USING a s {ON} WHEN NOT MATCHED THEN INSERT (id, m) VALUES (s.id, (SELECT max(m) FROM b))": (
        "MERGE",
        "abt",
        1,
        None,
    ),
    f"MERGE INTO t USING a s {ON} WHEN NOT MATCHED BY SOURCE AND t.id IN (SELECT id FROM b) THEN DELETE": (
        "MERGE",
        "abt",
        2,
        None,
    ),
    "TRUNCATE TABLE t": ("TRUNCATE", "", None, "TRUNCATE"),
    "ALTER TABLE t CONCATENATE": ("CONCATENATE", "t", 3, None),
}


@pytest.fixture(scope="module")
def bases(spark: Session) -> Iterator[str]:
    """A database with the tables that statements only read: `a` has the ids 3 and 4, `b` 2."""
    name = unique("runs")
    spark.sql(f"CREATE DATABASE {name}")
    for rows in ("a VALUES (3, 30), (4, 40)", "b VALUES (2, 50)"):
        spark.sql(f"CREATE TABLE {name}.{rows[0]} (id BIGINT, m INT) STORED AS PARQUET")
        spark.sql(f"INSERT INTO {name}.{rows}")
    yield name
    spark.sql(f"DROP DATABASE {name} CASCADE")


@pytest.fixture
def database(spark: Session, bases: str) -> Iterator[str]:
    """The current database, with `a`, `b` and a new table `t` that has the ids 1 to 3 in two files."""
    spark.sql(f"USE {bases}")
    spark.sql("CREATE TABLE t (id BIGINT, m INT) STORED AS PARQUET")
    for rows in ("(1, 1), (2, 2)", "(3, 3)"):
        spark.sql(f"INSERT INTO t VALUES {rows}")
    yield bases
    for table in sorted(row.tableName for row in spark.sql("SHOW TABLES").collect()):
        if table not in ("a", "b"):
            spark.sql(f"DROP TABLE {table}")
    spark.sql("USE default")


def names(datasets: list[dict[str, Any]], database: str) -> str:
    """Returns the names of tables with one letter."""
    return "".join(sorted(each["name"].removeprefix(f"{database}.") for each in datasets))


@pytest.mark.parametrize("statement", CASES)
def test_a_statement_is_one_run(spark: Session, database: str, collector: Collector, statement: str) -> None:
    kind, read, count, change = CASES[statement]
    first, last = collector.run(lambda: spark.sql(statement))
    for event in (first, last):
        assert names(event["inputs"], database) == read
        assert names(event["outputs"], database) == "t"
        assert event["job"]["facets"]["jobType"]["jobType"] == kind
        (output,) = event["outputs"]
        assert output["facets"].get("lifecycleStateChange", {}).get("lifecycleStateChange") == change
    assert first["job"]["name"] == f"tests.{database}.t" + ("" if kind == "INSERT" else f".{kind.lower()}")
    assert last["eventType"] == "COMPLETE"
    statistics = output["outputFacets"].get("outputStatistics")
    assert (statistics and statistics["rowCount"]) == count
    assert len(collector.events) == 2


CREATIONS = {
    "CREATE TABLE made AS SELECT a.id FROM a JOIN b": "CREATE",
    "CREATE TABLE made USING parquet AS SELECT a.id FROM a JOIN b": "CREATE",
    "CREATE OR REPLACE TABLE t USING parquet AS SELECT a.id FROM a JOIN b": "OVERWRITE",
}


@pytest.mark.parametrize("statement", CREATIONS)
def test_a_table_made_of_rows(spark: Session, database: str, collector: Collector, statement: str) -> None:
    """The temporary table is not told."""
    first, last = collector.run(lambda: spark.sql(statement))
    for event in (first, last):
        assert names(event["inputs"], database) == "ab"
        (output,) = event["outputs"]
        assert output["name"] in (f"{database}.made", f"{database}.t")
        assert output["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == CREATIONS[statement]
        assert event["job"]["name"].endswith(".create_table_as_select")
    assert (last["eventType"], output["outputFacets"]["outputStatistics"]["rowCount"]) == ("COMPLETE", 2)
    spark.sql("CREATE TABLE IF NOT EXISTS t AS SELECT * FROM a")  # does nothing, and tells nothing
    assert len(collector.events) == 2


def test_tables_that_spark_writes_tell_nothing(spark: Session, database: str, collector: Collector) -> None:
    spark.sql("CREATE TABLE texts (id BIGINT, m INT) STORED AS TEXTFILE")
    spark.sql("INSERT INTO texts SELECT * FROM a")
    assert spark.table("texts").count() == 2
    first, _ = collector.run(lambda: spark.sql("INSERT INTO t SELECT * FROM texts"))
    assert (first["inputs"][0]["name"], len(collector.events)) == (f"{database}.texts", 2)


def test_a_batch_of_a_stream(spark: Session, database: str, collector: Collector, tmp_path: Path) -> None:
    spark.range(2).write.parquet(str(tmp_path / "source"))
    stream = spark.readStream.schema("id BIGINT").parquet(str(tmp_path / "source")).writeStream
    stream = stream.trigger(availableNow=True).option("checkpointLocation", str(tmp_path / "checkpoint"))
    _, last = collector.run(lambda: stream.toTable(f"{database}.t").awaitTermination())
    assert last["job"]["facets"]["jobType"]["processingType"] == "STREAMING"
    assert last["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 2


def test_optimizing_is_one_run_for_a_group(spark: Session, database: str, collector: Collector) -> None:
    quiet = "'care.compaction.quiet.period' = '0', 'care.compaction.min.files' = '2'"
    spark.sql(f"ALTER TABLE t SET TBLPROPERTIES ({quiet})")
    first, last = collector.run(lambda: spark.sql("OPTIMIZE t").collect())
    for event in (first, last):
        assert (names(event["inputs"], database), names(event["outputs"], database)) == ("t", "t")
        assert event["job"]["name"].endswith(".optimize")
    assert last["outputs"][0]["outputFacets"]["outputStatistics"]["fileCount"] == 1


FAILURES = {
    "UPDATE t SET m = CAST(raise_error('boom') AS INT)": "boom",
    "DELETE FROM t WHERE raise_error('boom') IS NULL": "boom",
    f"MERGE INTO t USING (SELECT * FROM a UNION ALL SELECT * FROM a) s {ON} WHEN MATCHED THEN DELETE "
    "WHEN NOT MATCHED THEN INSERT (id, m) VALUES (s.id, CAST(raise_error('boom') AS INT))": "boom",
    "CREATE TABLE made AS SELECT CAST(raise_error('boom') AS INT) AS x FROM a": "boom",
    "ALTER TABLE t CONCATENATE": "interrupted",
}


@pytest.mark.parametrize("statement", FAILURES)
def test_a_failed_statement_tells_why(
    spark: Session, database: str, collector: Collector, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "CONCATENATE" in statement:

        def interrupted(*_: object, **__: object) -> None:
            raise WriteFailedError("interrupted")

        monkeypatch.setattr(concatenate, "write_staging", interrupted)

    def fails() -> None:
        with pytest.raises(Exception, match=FAILURES[statement]):
            spark.sql(statement)

    _, last = collector.run(fails)
    assert last["eventType"] == "FAIL"
    assert FAILURES[statement] in last["run"]["facets"]["errorMessage"]["message"]
    assert all(not output["outputFacets"] for output in last["outputs"])


def partitions(dataset: dict[str, Any]) -> list[str]:
    """Returns the names of the partitions in the subset of a dataset."""
    (facet,) = [facets["subset"] for name, facets in dataset.items() if name.endswith("putFacets")]
    (condition,) = [value for name, value in facet.items() if name.endswith("Condition")]
    return [each["identifier"] for each in condition["partitions"]]


def test_dependent_partitions_tell_what_they_rest_on(spark: Session, database: str, collector: Collector) -> None:
    for name in ("hourly", "other"):
        spark.sql(f"CREATE TABLE {name} (id INT) PARTITIONED BY (ds STRING, hr INT) STORED AS PARQUET")
        spark.sql(f"INSERT INTO {name} VALUES (1, 'x', 0), (2, 'x', 1), (3, 'y', 0)")
    collector.wait(4)
    create = "CREATE DEPENDENT TABLE daily PARTITIONED BY (ds STRING) DEPENDS ON TABLE hourly"
    _, made = collector.run(lambda: spark.sql(create))
    assert made["outputs"][0]["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "CREATE"
    add = "ALTER TABLE daily ADD PARTITION (ds = 'x')"
    added = collector.run(lambda: spark.sql(add))[1]
    with_base = "ALTER TABLE daily ADD PARTITION (ds = 'y') DEPENDS ON TABLE hourly PARTITION (ds = 'y')"
    also = collector.run(lambda: spark.sql(with_base))[1]
    again = collector.run(lambda: spark.sql("ALTER TABLE daily PARTITION (ds = 'x') DEPENDS ON TABLE other"))[1]
    moved = collector.run(lambda: spark.sql("ALTER TABLE daily DEPENDS ON TABLE other"))[1]
    bases = [(made, "hourly"), (added, "hourly"), (also, "hourly"), (again, "other"), (moved, "other")]
    for event, base in bases:
        assert event["eventType"] == "COMPLETE"
        assert [each["name"] for each in event["inputs"]] == [f"{database}.{base}"]
        assert [each["name"] for each in event["outputs"]] == [f"{database}.daily"]
    for event, value, read in ((added, "x", 2), (also, "y", 1), (again, "x", 2)):
        assert partitions(event["inputs"][0]) == [f"ds={value}/hr={hour}" for hour in range(read)]
        assert partitions(event["outputs"][0]) == [f"ds={value}"]
    assert added["job"]["name"] == f"tests.{database}.daily.add_partition"

    def fails() -> None:
        with pytest.raises(PartitionExistsError):
            spark.sql(add)

    assert collector.run(fails)[1]["eventType"] == "FAIL"


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "no-address"])
def test_a_collector_that_cannot_be_reached_changes_nothing(
    context: Context, table_name: str, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", url)
    make_table(context.metastore, table_name, "id bigint", "m int")
    context.spark.sql(f"INSERT INTO {table_name} VALUES (1, 1)")
    assert context.spark.table(table_name).count() == 1
