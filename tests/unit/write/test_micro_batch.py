"""The numbering of the statements of a streaming batch."""

from __future__ import annotations

import uuid
from contextlib import suppress
from typing import Any

import pytest

from spark_client.errors import PublishConflictError, WriteUncertainError
from spark_client.jvm.streams import RunningBatch
from spark_client.write import micro_batch
from spark_client.write.micro_batch import PREFIX, statement_of_batch


@pytest.fixture
def query(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Spark's properties of the running streaming query; there are none without a batch."""
    said = {"query": uuid.uuid4().hex, "batch": "7", "run": "1"}

    def running(_: object) -> RunningBatch | None:
        return RunningBatch(said["query"], said["run"], int(said["batch"])) if "batch" in said else None

    monkeypatch.setattr(micro_batch, "running_batch", running)
    return said


def noted(query: dict[str, str], table: str = "d.t", error: Exception | None = None) -> str:
    """Runs a statement, which may fail, and returns what the partitions would record."""
    spark: Any = None
    note = ""
    with suppress(*([Exception] if error else [])), statement_of_batch(spark, table) as batch:
        if batch:
            note = batch.marker[f"{PREFIX}{query['query']}"]
        if error:
            raise error
    return note


def test_statements_count_for_their_table_and_their_batch(query: dict[str, str]) -> None:
    assert [noted(query), noted(query), noted(query, "d.u"), noted(query)] == ["7.1", "7.2", "7.1", "7.3"]
    query["batch"] = "8"
    assert [noted(query), noted(query)] == ["8.1", "8.2"]
    query["run"] = "2"
    assert noted(query) == "8.1"
    del query["batch"]
    assert noted(query) == ""


def test_failed_batches_are_remembered(query: dict[str, str]) -> None:
    assert noted(query, error=PublishConflictError("no")) == "7.1"
    assert noted(query) == "7.2.1"
    assert noted(query, error=ValueError()) == "7.3.1"
    assert noted(query) == "7.4.1.3"


def test_an_unknown_outcome_is_requested_again_by_its_number(query: dict[str, str]) -> None:
    assert [noted(query, error=WriteUncertainError("?")), noted(query), noted(query)] == ["7.1", "7.1", "7.2"]
