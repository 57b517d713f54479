"""A resource that PostgreSQL runs out of is named to the client, in the log, in the metrics and by the doctor."""

from __future__ import annotations

import logging
import time
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from metastore.context import Caller
from metastore.errors import EXHAUSTED, ExhaustedError
from metastore.monitoring.exposition import render
from metastore.monitoring.shared_metrics import SharedMetrics
from metastore.protocol.call_record import UNAVAILABLE, CallRecords, outcome_of
from metastore.protocol.exceptions import text_of
from metastore.storage.postgres.exceptions import translate
from metastore.storage.verification.server_state import _exhaustion

CONDITIONS = {
    "53100": ("disk_full", 'could not extend file "base/5/16402": No space left on device'),
    "53200": ("out_of_memory", "out of memory"),
    "53300": ("too_many_connections", "sorry, too many clients already"),
}


class DriverError(Exception):
    def __init__(self, state: str, text: str) -> None:
        super().__init__(f"{text}\nHINT: a further line")
        self.pgcode = state


def driver_error(state: str) -> OperationalError:
    return OperationalError("INSERT", {}, DriverError(state, CONDITIONS[state][1]))


def test_each_condition_has_an_error() -> None:
    assert tuple(condition for condition, _ in CONDITIONS.values()) == EXHAUSTED


@pytest.mark.parametrize("state", CONDITIONS)
def test_the_client_the_log_and_the_metrics_name_it(state: str, caplog: pytest.LogCaptureFixture) -> None:
    condition, said = CONDITIONS[state]
    error = translate(driver_error(state))
    assert isinstance(error, ExhaustedError)
    assert error.condition == condition
    assert text_of(error).startswith(f"{condition} (SQLSTATE {state}): ")
    assert text_of(error).endswith(f"PostgreSQL says: {said}")
    assert outcome_of(error) == UNAVAILABLE
    metrics = SharedMetrics(["create_table"], 1)
    records = CallRecords(1.0, metrics.worker(0))
    with caplog.at_level(logging.INFO, "metastore.calls"):
        number = records.begin(Caller("10.0.0.1:1"), "create_table", 1, lambda: "s.t", time.perf_counter())
        records.end(number, outcome_of(error), error)
    records.publish()
    assert f"outcome=unavailable: {condition} (SQLSTATE {state})" in caplog.text
    shown = render(metrics, {}, database_up=True, hive_names=False).decode()
    assert f'metastore_exhausted_calls_total{{condition="{condition}"}} 1.0' in shown


@pytest.mark.parametrize("state", CONDITIONS)
def test_the_doctor_names_it(state: str) -> None:
    def execute(_: Any) -> None:
        raise driver_error(state)

    connection: Any = SimpleNamespace(execute=execute, rollback=lambda: None)
    finding = _exhaustion(connection)
    assert finding
    assert finding.startswith(f"{CONDITIONS[state][0]} (SQLSTATE {state}): ")
