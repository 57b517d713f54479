"""How long it takes from a commit to a running task of Airflow, with many watchers on one connection.

WATCHERS and EVENTS in the environment set the size, 5000 and 100 for a figure. The figures are printed; nothing is
asserted about them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from statistics import quantiles
from typing import Any

import pytest

from tests.integrations.airflow_instance import Airflow, running
from tests.integrations.test_airflow import KEYS, Metastore
from tests.integrations.test_airflow import metastore as metastore
from tests.integrations.test_airflow import venv as venv

WATCHERS = int(os.environ.get("WATCHERS", "200"))
EVENTS = int(os.environ.get("EVENTS", "10"))
MEASURED = 20  # tables that get partitions, each with a DAG
COLD = 8  # first events, whose tasks wait until Airflow has started its worker processes
DAGS = """
import json, time
from pathlib import Path
from airflow.sdk import DAG, Asset, AssetAll, AssetWatcher, task
from metastore.airflow.triggers import PartitionEventTrigger

def asset(number):
    trigger = PartitionEventTrigger(table=f"speed.t{number}")
    return Asset(f"speed_t{number}", watchers=[AssetWatcher(name=f"w{number}", trigger=trigger)])

@task
def begin(triggering_asset_events=None):
    now = time.time()
    with Path("STARTED").open("a") as started:
        for events in triggering_asset_events.values():
            for event in events:
                started.write(json.dumps([now, event.extra["payload"]["id"]]) + chr(10))

for number in range(FIRST, END):
    with DAG(f"speed_{number}", schedule=[asset(number)], max_active_runs=4):
        begin()
"""
# Each process of a task reads the file of its DAG: the many watchers are in a file of their own.
QUIET = """
with DAG("quiet", schedule=AssetAll(*(asset(number) for number in range(FIRST, END)))):
    begin()
"""
EVENTS_AND_RUNS = """
SELECT event.extra, event.timestamp, run.queued_at, task.scheduled_dttm, task.queued_dttm
FROM asset_event event JOIN dagrun_asset_event used ON used.event_id = event.id
JOIN dag_run run ON run.id = used.dag_run_id
JOIN task_instance task ON task.dag_id = run.dag_id AND task.run_id = run.run_id
"""
STEPS = ("stored event", "run of the DAG", "scheduled task", "queued task")


def shown(name: str, seconds: list[float]) -> str:
    cuts = quantiles(sorted(seconds), n=100, method="inclusive")
    return f"{name}: p50 {cuts[49]:.2f} s, p99 {cuts[98]:.2f} s, largest {max(seconds):.2f} s of {len(seconds)}"


def test_from_a_commit_to_a_running_task(
    venv: Path,
    metastore: Metastore,
    make_database: Callable[[], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    http = f"http://127.0.0.1:{metastore.http}"
    connection = {"conn_type": "metastore", "host": "127.0.0.1", "port": metastore.port, "extra": {"http": http}}
    airflow = Airflow(
        venv,
        tmp_path / "airflow",
        {"metastore_default": connection},
        make_database(empty=True),  # SQLite is locked for too long by thousands of assets
        SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME="0.1",
        CORE__DAGBAG_IMPORT_TIMEOUT="300",
        DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT="600",
        DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL="3600",
    )
    started = tmp_path / "started"
    started.touch()
    common, _, speed = DAGS.replace("STARTED", str(started)).partition("for number")
    for name, dags, first, end in (("speed", f"for number{speed}", 0, MEASURED), ("quiet", QUIET, MEASURED, WATCHERS)):
        text = common + dags.replace("FIRST", str(first)).replace("END", str(end))
        (airflow.dags / f"{name}.py").write_text(text)
    metastore.create("speed", *((f"t{number}", KEYS) for number in range(MEASURED)))
    begun = time.monotonic()
    with running(airflow):
        airflow.wait(lambda: airflow.log("triggerer").count(" starting ") >= WATCHERS, "all watchers begin", 1500)
        ready = time.monotonic() - begun
        committed: dict[int, float] = {}
        for number in range(EVENTS):
            metastore.add("speed", f"t{number % MEASURED}", f"{number:04}")
            committed[number] = time.time()
            airflow.wait(lambda number=number: len(lines(started)) > number, "the task has begun", patience=120)
        rows = airflow.rows(EVENTS_AND_RUNS)
    ids, steps = moments(rows)
    begins = {ids[number]: seconds for seconds, number in map(tuple, lines(started))}
    assert set(begins) == set(committed)
    assert len(rows) == EVENTS
    figures = {"trigger": times_of_triggers(airflow), **steps, "running task": begins}
    with capsys.disabled():
        sys.stdout.write(f"\n{WATCHERS} watchers began within {ready:.0f} s; load {os.getloadavg()[0]:.1f}\n")
        for name, times in figures.items():
            sys.stdout.write(f"commit to {shown(name, [times[number] - committed[number] for number in committed])}\n")
        warm = [begins[number] - committed[number] for number in committed if number >= COLD]
        sys.stdout.write(f"commit to {shown(f'running task, without the first {COLD} events', warm)}\n")


def moments(rows: Iterable[Sequence[Any]]) -> tuple[dict[int, int], dict[str, dict[int, float]]]:
    """Returns the number of the partition by the id of its event, and the time of each step by that number."""
    steps: dict[str, dict[int, float]] = {step: {} for step in STEPS}
    ids = {}
    for extra, *times in rows:
        payload = extra["payload"]
        number = int(payload["partitions"][0]["ds"])
        ids[payload["id"]] = number
        for step, moment in zip(STEPS, times, strict=True):
            steps[step][number] = moment.timestamp()
    return ids, steps


def lines(path: Path) -> list[list[float]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def times_of_triggers(airflow: Airflow) -> dict[int, float]:
    """Returns when triggers fired, by the number of the partition, from the triggerer's log."""
    found = {}
    for line in airflow.log("triggerer").splitlines():
        if "Trigger fired event" in line and "'ds': '" in line:
            moment = datetime.fromisoformat(line.split()[0])
            found[int(line.partition("'ds': '")[2][:4])] = moment.timestamp()
    return found
