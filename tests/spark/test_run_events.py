"""OpenLineage's events of INSERTs: what they read and write, and collectors that do not answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from spark_client.context import Context
from tests.spark.tables import make_table


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


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "no-address"])
def test_a_collector_that_cannot_be_reached_changes_nothing(
    context: Context, table_name: str, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", url)
    make_table(context.metastore, table_name, "id bigint", "m int")
    context.spark.sql(f"INSERT INTO {table_name} VALUES (1, 1)")
    assert context.spark.table(table_name).count() == 1
