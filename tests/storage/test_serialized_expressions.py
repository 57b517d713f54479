"""Expressions sent by Hive's own clients: the server selects the same partitions as Hive."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import pytest

from metastore.app.worker import Application
from metastore.domain.names import TableName
from metastore.errors import InvalidInputError
from metastore.services.partition_expressions import PartitionExpressionService
from tests.fixtures.application import called
from tests.fixtures.expressions import VERSIONS, Recorded, RecordedTable, recordings
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database

# Hive 2.3 treats every text as true, also 'false': dropping k = true would drop both.
FALSE_IS_TRUE = ("2.3.10", "booleans")
# In Hive 2.3 and 3.1, a date in a struct differs from every constant.
DATE_IN_STRUCT = "EXPLAIN SELECT x FROM three WHERE struct(d, n) IN"


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The time zone of the recorder, because Hive 2.3 sends instants that are read in the server's time zone."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


class Chosen(NamedTuple):
    """Returns the positions of the selected partitions, and whether the selection is exact."""

    positions: list[int]
    is_exact: bool


# Each has more than a thousand statements.
@pytest.mark.parametrize(
    "version", [*(pytest.param(old, marks=pytest.mark.slow) for old in VERSIONS[:-1]), VERSIONS[-1]]
)
def test_partitions_equal_hives_choice(application: Application, version: str) -> None:
    actual = recordings(version)
    called(application, "create_database", Database(name="d"))
    for name, recorded_table in actual.tables.items():
        called(application, "create_table", table("d", name, recorded_table.keys))
        called(application, "add_partitions", [partition("d", name, values) for values in recorded_table.values])
    service = PartitionExpressionService(application._store)
    compared = [expression for expression in actual.expressions if (version, expression.table) != FALSE_IS_TRUE]
    different = [recorded for recorded in compared if not _agrees(service, actual.tables[recorded.table], recorded)]
    assert len(compared) > 1000
    assert len(different) <= len(compared) // 100, [recorded.statement for recorded in different]


def _agrees(service: PartitionExpressionService, keys: RecordedTable, recorded: Recorded) -> bool:
    """Returns whether both selections agree. The server may select more, except for drops, but never less."""
    chosen = _chosen(service, keys, recorded)
    assert set(chosen.positions) >= set(recorded.kept), recorded.statement
    if chosen.is_exact and not recorded.statement.startswith(DATE_IN_STRUCT):
        assert set(chosen.positions) == set(recorded.kept), recorded.statement
    droppable = partial(service.names_to_drop, TableName("hive", "d", recorded.table), [recorded.expression])
    if chosen.is_exact:
        assert len(droppable(if_exists=True)) == len(chosen.positions)
    else:
        with pytest.raises(InvalidInputError, match="cannot be read"):
            droppable(if_exists=True)
    return chosen.positions == recorded.kept


def _chosen(service: PartitionExpressionService, keys: RecordedTable, recorded: Recorded) -> Chosen:
    selected = service.select(TableName("hive", "d", recorded.table), recorded.expression, None)
    positions = sorted(keys.values.index(each.values) for each in selected.partitions.decode())
    return Chosen(positions, not selected.has_unknown)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_drop_is_understood(application: Application, version: str) -> None:
    """The expressions of ALTER TABLE … DROP PARTITION, with the intended meaning of Hive 2.3's booleans."""
    recorded = recordings(version)
    called(application, "create_database", Database(name="d"))
    service = PartitionExpressionService(application._store)
    for name, recorded_table in recorded.tables.items():
        called(application, "create_table", table("d", name, recorded_table.keys))
        called(application, "add_partitions", [partition("d", name, values) for values in recorded_table.values])
    drops = [expression for expression in recorded.expressions if "DROP" in expression.statement]
    assert len(drops) > 50
    for drop in drops:
        assert _chosen(service, recorded.tables[drop.table], drop).is_exact, drop.statement
