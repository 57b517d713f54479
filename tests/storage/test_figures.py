"""Slow statistics: their scope and their age."""

from __future__ import annotations

from functools import partial
from typing import Any

from metastore.app.worker import Application
from metastore.storage.figures import read_dependents
from tests.fixtures.application import called
from tests.wire.builders import new_database, table
from tests.wire.builders import partition as new_partition
from tests.wire.dependencies.requests import DS, HR, add, add_to_dependent, create


class Calls:
    """The handlers, called without a connection."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def __getattr__(self, name: str) -> Any:
        return partial(called, self._application, name)


def figures(application: Application) -> tuple[dict[str, float], float]:
    with application._store._engine.connect() as connection:
        dependents = read_dependents(connection)
    return dict(dependents["metastore_dependents"]), dependents["metastore_dependent_oldest_stale_seconds"][""]


def test_dependent_partitions_by_their_state(application: Application) -> None:
    client = Calls(application)
    assert figures(application) == ({"fresh": 0, "stale": 0, "incomplete": 0}, 0)
    database = new_database(client)
    client.create_table(table(database, "t", [DS, HR]))
    create(client, database, "tdep", "t")
    add(client, database, "t", ["1", "0"], ["2", "0"])
    add_to_dependent(client, database, "tdep", ["1"], ["2"], ["3"])
    assert figures(application) == ({"fresh": 2, "stale": 0, "incomplete": 1}, 0)

    changed = new_partition(database, "t", ["1", "0"])
    changed.parameters = {"transient_lastDdlTime": str(changed_at := 2_000_000_000)}
    client.alter_partition(database, "t", changed)
    states, oldest = figures(application)
    assert states == {"fresh": 1, "stale": 1, "incomplete": 1}
    assert oldest < 0, f"it was changed in {changed_at}, which is to come"
    client.drop_table(database, "tdep", True)
    assert figures(application) == ({"fresh": 0, "stale": 0, "incomplete": 0}, 0)
