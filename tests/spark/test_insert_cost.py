"""The round trips of one small INSERT: calls to the metastore, calls between Python and the JVM, file operations, jobs.

Counts instead of times, so that the test means the same on any machine. Spark's own INSERT makes one job.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from py4j.java_gateway import GatewayClient, JavaObject

from metastore.client.connection import Connection
from spark_client.context import Context
from spark_client.jvm import RequestDispatcher
from spark_client.jvm.files import Files
from tests.spark.since import is_there

CALL, REQUEST, JOB = "call of the JVM", "request of the JVM", "job"
_GIVE_BACK = "m\nd\n"


@contextmanager
def counted(context: Context, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Counts the round trips of the block: methods of the metastore, operations of `Files`, and the names above.

    The calls include the one that gives back each object of the JVM. Py4J makes it some time later.
    """
    counts, make = Counter[str](), JavaObject.__init__
    call, apply, run, send = Connection.call, RequestDispatcher.apply, Files._run, GatewayClient.send_command

    def count_call(self: Any, method: str, *args: Any) -> Any:
        counts[method] += 1
        return call(self, method, *args)

    def count_request(self: Any, request: Any, objects: Any) -> str:
        counts[REQUEST] += 1
        return apply(self, request, objects)

    def count_files(self: Any, operation: str, pairs: Any, word: str = "") -> list[str]:
        counts[operation] += bool(pairs)
        return run(self, operation, pairs, word)

    def count_command(self: Any, command: str, *args: Any, **options: Any) -> Any:
        counts[CALL] += not command.startswith(_GIVE_BACK)
        return send(self, command, *args, **options)

    def count_object(self: Any, *args: Any) -> None:
        counts[CALL] += 1
        make(self, *args)

    scheduler = context.spark.sparkContext._jsc.sc().dagScheduler()
    jobs = int(scheduler.numTotalJobs())
    with monkeypatch.context() as patched:
        patched.setattr(JavaObject, "__init__", count_object)
        patched.setattr(Connection, "call", count_call)
        patched.setattr(RequestDispatcher, "apply", count_request)
        patched.setattr(Files, "_run", count_files)
        patched.setattr(GatewayClient, "send_command", count_command)
        yield counts
    counts[JOB] = int(scheduler.numTotalJobs()) - jobs


@pytest.mark.parametrize("type_", ["INT", "STRING"])
@pytest.mark.parametrize("clause", ["", "PARTITION (p = 1)"], ids=["dynamic", "static"])
def test_a_small_insert_makes_few_round_trips(
    context: Context, table_name: str, clause: str, type_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "VALUES (1, 'x')" if clause else "VALUES (1, 'x', 1)"
    context.spark.sql(f"CREATE TABLE {table_name} (a INT, s STRING) PARTITIONED BY (p {type_}) STORED AS PARQUET")
    context.spark.sql(f"INSERT INTO {table_name} {clause} {rows}")
    with counted(context, monkeypatch) as counts:
        context.spark.sql(f"INSERT INTO {table_name} {clause} {rows}")
    assert counts.pop(JOB) == 1, "one task writes the rows of a VALUES clause"
    assert counts[REQUEST] == 3  # is a metastore there, is the INSERT valid, run it
    # PySpark's own `sql` makes 8.
    assert counts.pop(CALL) + counts.pop(REQUEST) <= 28 + counts["rename"]
    # The directory of a named partition is registered when the write begins.
    registered = 0 if clause else 1
    assert counts == Counter(
        {
            "get_table": 1,
            "plan_scan": 1,
            "begin_write": 1,
            "renew_write": registered,
            "publish_all": 1,
            # Before 4.0, Spark's writer ignores the names of the files. So they are renamed before they are moved.
            "rename": 1 if is_there("4.0") else 2,
            "find": 1,
            "delete": 1,
        }
    )


def test_values_for_many_partitions_are_one_job_and_one_file_each(
    context: Context, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.spark.sql(f"CREATE TABLE {table_name} (a INT) PARTITIONED BY (p INT) STORED AS PARQUET")
    rows = ", ".join(f"({number}, {number % 5})" for number in range(40))
    with counted(context, monkeypatch) as counts:
        context.spark.sql(f"INSERT INTO {table_name} VALUES {rows}")
    assert counts[JOB] == 1
    assert len(context.spark.table(table_name).inputFiles()) == 5
    assert context.spark.table(table_name).count() == 40
