"""Airflow with this project's provider: the how-to page, an existing DAG with other imports, and kills."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.server import Server, connected
from tests.fixtures.server import running as serving
from tests.integrations.airflow_instance import Airflow, free_port, running
from tests.integrations.venvs import ROOT, installed
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database

PAGE = ROOT / "docs/how-to/airflow.md"
PACKAGES = (
    "apache-airflow==3.3.*",
    "apache-airflow-providers-apache-hive",
    "asyncpg",
    "-e",
    ".[airflow,server,arrow]",
    "pyspark==4.1.*",
)
KEYS = [("ds", "string")]
HOURS = [("ds", "string"), ("hour", "string")]

# As people have it, with the sensors of Airflow's provider for Hive.
EXISTING = """
from datetime import datetime

from airflow.providers.apache.hive.sensors.hive_partition import HivePartitionSensor
from airflow.providers.apache.hive.sensors.metastore_partition import MetastorePartitionSensor
from airflow.providers.apache.hive.sensors.named_hive_partition import NamedHivePartitionSensor
from airflow.sdk import DAG, task

with DAG("existing", start_date=datetime(2026, 1, 1), schedule=None, catchup=False):
    named = NamedHivePartitionSensor(
        task_id="named", partition_names=["old.orders/ds={{ ds }}", "old.clicks/ds={{ ds }}/hour=00"], poke_interval=60
    )
    filtered = HivePartitionSensor(task_id="filtered", table="old.orders", partition="ds>='{{ ds }}'")
    by_name = MetastorePartitionSensor(
        task_id="by_name", schema="old", table="orders", partition_name="ds={{ ds }}", mysql_conn_id="metastore_mysql"
    )

    @task
    def report():
        print("done")

    [named, filtered, by_name] >> report()
"""
CARE = """
from datetime import datetime
from airflow.sdk import DAG
from metastore.airflow.care import TableCareOperator

with DAG("care", start_date=datetime(2026, 1, 1), schedule=None):
    TableCareOperator(task_id="care", name="cared", max_minutes=1)
    TableCareOperator(task_id="missing", name="cared.missing", max_minutes=1)
"""
IMPORT = re.compile(r"airflow\.providers\.apache\.hive\.sensors\.\w+")
SIGNATURES = """
import inspect, json, sys
from airflow.providers.apache.hive.sensors import hive_partition, metastore_partition, named_hive_partition
from metastore.airflow import sensors
lacking = []
for module, name in (
    (named_hive_partition, "NamedHivePartitionSensor"),
    (hive_partition, "HivePartitionSensor"),
    (metastore_partition, "MetastorePartitionSensor"),
):
    def parameters(kind):
        found = {}
        for each in reversed(kind.__mro__):
            if "__init__" in vars(each):
                found |= inspect.signature(vars(each)["__init__"]).parameters
        return set(found)
    theirs = inspect.signature(getattr(module, name).__init__).parameters
    lacking += sorted(set(theirs) - parameters(getattr(sensors, name)))
print(json.dumps(lacking))
"""


class Metastore:
    """A server whose ports stay the same when it is started again."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self._url, self._folder = database_url, folder
        self.port, self.http = free_port(), free_port()
        self._running = ExitStack()
        self.server: Server

    def start(self) -> None:
        ports = ("--port", str(self.port), "--http-port", str(self.http))
        self.server = self._running.enter_context(serving(self._url, self._folder, *ports))

    def kill(self) -> None:
        self.server.process.send_signal(signal.SIGKILL)
        self._running.close()

    def create(self, database: str, *tables: tuple[str, list[tuple[str, str]]]) -> None:
        with connected(self.server) as client:
            client.create_database(Database(database))
            for name, keys in tables:
                client.create_table(table(database, name, keys))

    def add(self, database: str, name: str, *values: str) -> None:
        with connected(self.server) as client:
            client.add_partition(partition(database, name, list(values)))


@pytest.fixture(scope="module")
def venv() -> Path:
    return installed("airflow-3.3", *PACKAGES)


@pytest.fixture(scope="module")
def metastore(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metastore]:
    started = Metastore(make_database(), tmp_path_factory.mktemp("metastore"))
    started.start()
    yield started
    started._running.close()


@pytest.fixture(scope="module")
def airflow(venv: Path, metastore: Metastore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Airflow]:
    connection = {
        "conn_type": "hive_metastore",
        "host": "127.0.0.1",
        "port": metastore.port,
        "extra": {"http": f"http://127.0.0.1:{metastore.http}"},
    }
    made = Airflow(venv, tmp_path_factory.mktemp("airflow"), {"metastore_default": connection})
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for number, block in enumerate(blocks):
        (made.dags / f"page_{number}.py").write_text(block)
    (made.dags / "existing.py").write_text(IMPORT.sub("metastore.airflow.sensors", EXISTING))
    (made.dags / "care.py").write_text(CARE)
    with running(made):
        yield made


def payloads(airflow: Airflow) -> list[dict[str, Any]]:
    """Returns the events that the watcher of the page has fired."""
    rows = airflow.rows("SELECT extra FROM asset_event ORDER BY id")
    return [json.loads(extra)["payload"] for (extra,) in rows]


def test_the_parameters_are_those_of_airflows_sensors(venv: Path) -> None:
    done = subprocess.run([venv / "bin/python", "-c", SIGNATURES], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_the_page(airflow: Airflow, metastore: Metastore) -> None:
    airflow.run("shop_report", "2026-01-05")
    for task in ("orders", "hours"):
        airflow.wait(airflow.has("shop_report", task, "deferred"), f"{task} waits for a table that does not exist")
    airflow.wait(lambda: airflow.rows("SELECT 1 FROM variable"), "the watcher has begun")
    metastore.create("shop", ("orders", KEYS), ("clicks", HOURS))
    metastore.add("shop", "orders", "2026-01-05")
    for hour in ("00", "01", "02"):
        metastore.add("shop", "clicks", "2026-01-05", hour)
    airflow.wait(airflow.has("shop_report", "orders", "success"), "the partition is there")
    assert airflow.states("shop_report")["hours"] == "deferred"
    metastore.add("shop", "clicks", "2026-01-05", "03")
    airflow.wait(airflow.has("shop_report", "report", "success"), "the report runs")
    airflow.wait(airflow.has("shop_load", "load", "success"), "the asset's DAG runs")
    assert [each["partitions"] for each in payloads(airflow)] == [[{"ds": "2026-01-05"}]]


def test_an_existing_dag_runs_with_other_imports(airflow: Airflow, metastore: Metastore) -> None:
    metastore.create("old", ("orders", KEYS), ("clicks", HOURS))
    airflow.run("existing", "2026-01-05")
    for task in ("named", "filtered", "by_name"):
        airflow.wait(airflow.has("existing", task, "deferred"), f"{task} waits")
    metastore.add("old", "orders", "2026-01-05")
    for task in ("filtered", "by_name"):
        airflow.wait(airflow.has("existing", task, "success"), f"{task} ends")
    assert airflow.states("existing")["named"] == "deferred"
    metastore.add("old", "clicks", "2026-01-05", "00")
    airflow.wait(airflow.has("existing", "report", "success"), "the report runs")


def test_an_operator_cares_for_tables(airflow: Airflow, metastore: Metastore) -> None:
    retention = {"care.retention.key": "ds", "care.retention.period": "30d"}
    with connected(metastore.server) as client:
        client.create_database(Database("cared"))
        client.create_table(table("cared", "old", KEYS, parameters=retention))
    for day in ("2001-01-01", "2999-01-01"):
        metastore.add("cared", "old", day)
    airflow.run("care", "2026-01-05")
    airflow.wait(airflow.has("care", "care", "success"), "table care runs")
    with connected(metastore.server) as client:
        assert client.get_partition_names("cared", "old", -1) == ["ds=2999-01-01"]
    ((value,),) = airflow.rows("SELECT value FROM xcom WHERE dag_id = 'care' AND key = 'return_value'")
    assert [row["partition"] for row in json.loads(value)] == ["ds=2001-01-01"]
    airflow.wait(airflow.has("care", "missing", "failed"), "the other table does not exist")


def test_waiters_survive_kills_of_server_and_triggerer(airflow: Airflow, metastore: Metastore) -> None:
    airflow.run("shop_report", "2026-02-01")
    for task in ("orders", "hours"):
        airflow.wait(airflow.has("shop_report", task, "deferred"), f"{task} waits")
    before = len(payloads(airflow))
    metastore.kill()
    metastore.start()
    metastore.add("shop", "orders", "2026-02-01")
    airflow.wait(airflow.has("shop_report", "orders", "success"), "the sensor has survived a kill of the server")
    airflow.wait(lambda: len(payloads(airflow)) == before + 1, "so has the watcher")
    airflow.kill("triggerer")
    for hour in ("00", "01", "02", "03"):
        metastore.add("shop", "clicks", "2026-02-01", hour)
    metastore.add("shop", "orders", "2026-02-02")
    airflow.start("triggerer")
    airflow.wait(airflow.has("shop_report", "report", "success"), "the sensor has survived a kill of the triggerer")
    airflow.wait(
        lambda: {"ds": "2026-02-02"} in (each["partitions"][0] for each in payloads(airflow)), "so has the watcher"
    )
