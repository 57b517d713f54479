"""Starting, reusing and rejecting sessions."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

import spark_client
from spark_client import Session
from spark_client.errors import InvalidAddressError, SessionError
from tests.fixtures.real_hive import free_port
from tests.fixtures.server import Server
from tests.fixtures.spark_servers import connect_settings
from tests.fixtures.sparks import python_of_client

ROOT = Path(__file__).parents[2]

# A client of Spark Connect whose server is a plug-in that the user has configured.
CLIENT = """
import sys
from pyspark.sql import SparkSession

spark, t = SparkSession.builder.remote(sys.argv[1]).create(), sys.argv[2]
spark.sql(f"CREATE TABLE {t} (x INT) SKEWED BY (x) ON (1) STORED AS DIRECTORIES STORED AS PARQUET").collect()
written = spark.sql(f"INSERT INTO {t} VALUES (1)")
written.collect()
written.count()
scans = spark.sql(f"SHOW SCANS OF SELECT * FROM {t} WHERE x = 1").collect()[0]
print(spark.table(t).count(), scans.directories, scans.all_directories)
spark.sql(f"DROP TABLE {t}").collect()
"""

# A plain session first, then ours beside it; the second after the first has stopped, with Spark Connect as a plug-in;
# and one that does not start.
BESIDE_ANOTHER = """
import subprocess
import sys
from pyspark.sql import SparkSession
import spark_client

uri, client, port, program, *conf = sys.argv[1:]
given = dict(pair.split("=") for pair in conf)
plain = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config(map=given).getOrCreate()
plugin = {"spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin", "spark.connect.grpc.binding.port": port}
for start in range(2):
    settings = {"spark.ui.enabled": False, "spark.sql.shuffle.partitions": 3, **given}
    ours = spark_client.session(uri, conf={**settings, **(plugin if start else {})})
    ours.sql(
        f"CREATE TABLE beside_{start} (x INT) SKEWED BY (x) ON (1) STORED AS DIRECTORIES STORED AS PARQUET"
    )
    ours.sql(f"INSERT INTO beside_{start} VALUES (1), (2)")
    report = spark_client.scan_report(ours.table(f"beside_{start}").where("x = 1"))
    print(ours.conf.get("spark.sql.shuffle.partitions"), report.scans[0].kept.directories)
    if start:
        subprocess.run([client, "-P", program, f"sc://127.0.0.1:{port}", "by_plugin"], check=True)
    ours.stop()
try:
    spark_client.session(uri, master="rubbish")
except spark_client.errors.SessionError as error:
    print(error)
"""


# A foreign session: first without any requirement, then with all of them.
ATTACHED = """
import sys
from pyspark.sql import SparkSession
import spark_client

plain = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
try:
    spark_client.attach(plain)
except spark_client.errors.SessionError as error:
    print(error)
plain.stop()
builder = SparkSession.builder.master("local[1]").enableHiveSupport().config("spark.ui.enabled", "false")
theirs = builder.config("spark.hadoop.hive.metastore.uris", sys.argv[1]).getOrCreate()
theirs.conf.set("spark.sql.shuffle.partitions", 5)
theirs.range(2).createOrReplaceTempView("two")
ours = spark_client.attach(theirs)
ours.sql("CREATE TABLE attached (x BIGINT) SKEWED BY (x) ON (1) STORED AS DIRECTORIES STORED AS PARQUET")
ours.sql("INSERT INTO attached SELECT * FROM two")
found = ours.sql("SELECT * FROM attached WHERE x = 1")
report = spark_client.scan_report(found)
print(ours.conf.get("spark.sql.shuffle.partitions"), ours.table("attached").count(), report.scans[0].kept.files)
ours.sql("DROP TABLE attached")
again = spark_client.attach(ours)
again.sql("SHOW TABLES").collect()
print("same rules")
"""


def test_another_session_shares_the_metastore_and_has_settings_of_its_own(
    spark: Session, metastore_server: Server, table_name: str
) -> None:
    other = spark_client.session(metastore_server.uri, conf={"spark.sql.shuffle.partitions": 7})
    assert other is not spark
    assert other.conf.get("spark.sql.shuffle.partitions") == "7"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "4"
    other.sql(f"CREATE TABLE {table_name} (x INT) SKEWED BY (x) ON (1) STORED AS DIRECTORIES STORED AS PARQUET")
    spark.sql(f"INSERT INTO {table_name} VALUES (1), (2)")
    assert other.table(table_name).count() == 2
    assert SparkSession.builder.getOrCreate().table(table_name).count() == 2


def test_another_metastore_is_rejected_while_spark_runs(spark: Session) -> None:
    with pytest.raises(SessionError, match=r"already runs with the metastore thrift://.*stop\(\)"):
        spark_client.session("thrift://127.0.0.1:1")
    with pytest.raises(InvalidAddressError, match="thrift://host:9083"):
        spark_client.session("http://somewhere")


def test_a_cell_that_starts_a_session_may_run_again(spark: Session, metastore_server: Server) -> None:
    same = spark.conf.get("spark.driver.memory")
    again = spark_client.session(metastore_server.uri, conf={"spark.driver.memory": same, "spark.ui.enabled": False})
    assert again.conf.get("spark.ui.enabled") == "false"
    with pytest.raises(SessionError, match=rf"^spark.driver.memory was fixed to {same} when Spark started; stop\(\) "):
        spark_client.session(metastore_server.uri, conf={"spark.driver.memory": "77g"})
    spark_client.session(metastore_server.uri, master="local[2]")
    with pytest.raises(SessionError, match=r"^warehouse was fixed to /.* when Spark started; stop\(\) that session "):
        spark_client.session(metastore_server.uri, warehouse="/elsewhere")


def test_a_session_of_others_is_attached_to(metastore_server: Server, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ATTACHED, metastore_server.uri, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    needs = "spark.sql.catalogImplementation=hive (enableHiveSupport()), spark.hadoop.hive.metastore.uris="
    assert run.stdout.splitlines() == [
        f"attach needs settings that must be set before Spark starts: {needs}thrift://host:9083",
        "5 2 1",
        "same rules",
    ]


REMOTE = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})()


@pytest.mark.parametrize(
    ("ask", "instead"),
    [
        (spark_client.write, "insertInto"),
        (lambda df: spark_client.find_skew(df, "x"), "SHOW SKEW IN"),
        (spark_client.survey_skew, "SHOW SKEW IN"),
        (lambda df: spark_client.check_buckets(df, "t"), "SHOW BUCKET PROBLEMS IN"),
        (spark_client.by_bucket, "JOIN"),
        (lambda df: spark_client.skew_join(df, df, "x"), "SKEW_JOIN"),
        (spark_client.attach, "metastore spark serve"),
    ],
)
def test_errors_in_a_spark_connect_client_name_the_alternative(ask: Callable[[Any], Any], instead: str) -> None:
    with pytest.raises(SessionError, match=rf"^\w+ works in a driver, not in a client of Spark Connect\. .*{instead}"):
        ask(REMOTE)


def test_a_foreign_spark_connect_server_is_reported() -> None:
    class Remote:
        """A frame with a session whose server does not know SHOW SCANS."""

        __module__ = "pyspark.sql.connect.dataframe"

        def __getattr__(self, _: str) -> Any:
            return self

        def __call__(self, *_: object) -> Any:
            return self

        def sql(self, _: str) -> None:
            raise ParseException("[PARSE_SYNTAX_ERROR] Syntax error at or near 'SCANS'")

    with pytest.raises(
        SessionError,
        match=r"^scan_report asks the Spark Connect server, .*`metastore spark serve --connect 15002`",
    ):
        spark_client.scan_report(Remote())  # type: ignore[arg-type]


def test_a_client_of_spark_connect_starts_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://somewhere")
    with pytest.raises(SessionError, match=r"SPARK_REMOTE makes this process a client of Spark Connect: unset it, or"):
        spark_client.session("thrift://127.0.0.1:1")


def test_threads_query_at_the_same_time(spark: Session, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (x INT) PARTITIONED BY (p INT) "
        "SKEWED BY (x) ON (0) STORED AS DIRECTORIES STORED AS PARQUET"
    )
    spark.range(16).selectExpr("CAST(id AS INT) % 2", "CAST(id AS INT) % 4").write.insertInto(table_name)
    with ThreadPoolExecutor(4) as threads:
        counts = list(threads.map(lambda p: spark.table(table_name).where(f"p = {p}").count(), [0, 1, 2, 3] * 3))
    assert counts == [4] * 12


@pytest.mark.long
def test_a_session_next_to_another_of_spark_s_own_and_after_a_stop(metastore_server: Server, tmp_path: Path) -> None:
    client = python_of_client()
    (program := tmp_path / "client.py").write_text(CLIENT)  # PySpark runs code of -c as doctests
    arguments = [metastore_server.uri, client, str(free_port()), str(program), *connect_settings()]
    command = [sys.executable, "-u", "-c", BESIDE_ANOTHER, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    *actual, refused = run.stdout.splitlines()
    assert actual == ["3 1", "3 1", "1 1 2"]
    assert re.match(r"Spark does not start: .*Could not parse Master URL: 'rubbish'$", refused), run.stdout
