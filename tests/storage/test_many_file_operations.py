"""The journal's statements for many locations give the results of those for few."""

from __future__ import annotations

import random
from typing import Any

import pytest
from sqlalchemy import text

from metastore.services.files.moves import follower
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from metastore.storage.repositories import file_operations
from metastore.storage.repositories.file_operations import NewOperation
from metastore.storage.unit_of_work import Store

ROUNDS = 12
INSERT = text("""
    INSERT INTO file_operations (id, kind, location, target, places, root, decided_at, reason, query_id, lease_ends_at)
    OVERRIDING SYSTEM VALUE VALUES (:id, :kind, :location, :target, :places, '', now() + :age * interval '1 s', :reason,
        '', now() - interval '1 h') ON CONFLICT DO NOTHING
""")


def some(chance: random.Random) -> str:
    """Returns one of few paths, so that many of them meet."""
    return "file:/" + "/".join(chance.choice(["a", "b", "a%", ""]) for _ in range(chance.randint(1, 4)))


def operation(chance: random.Random, number: int) -> dict[str, Any]:
    kind = chance.choice(["move", "remove", "remove", "make"])
    return {
        "id": number,
        "kind": kind,
        "location": some(chance),
        "target": some(chance) if kind == "move" else None,
        "places": [some(chance) for _ in range(3)] if kind == "make" else [],
        "reason": chance.choice(["dropped", "replaced", "truncated"]),
        "age": chance.choice([0, 0, 1, 2]),
    }


def results(store: Store, rows: list[dict[str, Any]], wanted: list[str], ids: list[int]) -> list[Any]:
    """Returns the results of all statements on a journal with these rows."""
    with store.transaction(audited=False) as work:
        work.connection.execute(text("DELETE FROM file_operations"))
        work.connection.execute(INSERT, rows)
    with store.read() as work:
        found: list[Any] = [sorted(work.file_operations.blocking(wanted))]
        found += work.file_operations.moves_of_locations(wanted), work.file_operations.being_made(wanted)
    with store.transaction(audited=False) as work:
        found.append(sorted(work.file_operations.lock_for_reference(wanted)))
    with store.asynchronous_commit() as work:
        found.append(work.file_operations.begin_making(-1, wanted) is not None)
    with store.transaction(audited=False) as work:
        found.append(work.file_operations.finish_making(-1, len(wanted)))
    with store.asynchronous_commit() as work:
        found.append(sorted(one.id for one in work.file_operations.claim(ids, own=True)))
        spoiled = work.connection.execute(text("SELECT id FROM file_operations WHERE error = 'spoiled' ORDER BY id"))
        return [*found, spoiled.scalars().all()]


def test_many_locations_have_the_same_conflicts(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(database_url=database_url)
    store = Store(make_engine(settings, database_url), settings)
    chance = random.Random(20260131)
    seen = []
    for _ in range(ROUNDS):
        rows = [operation(chance, number) for number in range(1, 15)]
        arguments = rows, [some(chance) for _ in range(2)], chance.sample(range(1, 15), 8)
        monkeypatch.setattr(file_operations, "_FEW", 100)
        expected = results(store, *arguments)
        monkeypatch.setattr(file_operations, "_FEW", 0)
        assert results(store, *arguments) == expected
        seen.append(expected)
    store.close()
    assert all(any(column) for column in zip(*seen, strict=True)), "each statement has found something"


def test_an_operation_of_a_table_that_was_deleted_meanwhile_is_planned(database_url: str) -> None:
    settings = Settings(database_url=database_url)
    store = Store(make_engine(settings, database_url), settings)
    with store.transaction(audited=False) as work:
        (planned,) = work.file_operations.schedule([NewOperation("remove", "file:/gone", "dead writer")], 4711)
        query = text("SELECT location, table_id FROM file_operations WHERE id = :id")
        assert tuple(work.connection.execute(query, {"id": planned}).one()) == ("file:/gone", None)
    store.close()


def test_a_location_follows_the_moves_in_their_order() -> None:
    follow = follower(
        [("file:/a", "file:/b"), ("file:/b/x", "file:/c"), ("file:/a", "file:/d"), ("file:/c", "file:/a")]
    )
    assert [follow(f"file:/{path}") for path in ("a/y", "a/x/z", "b/x", "c", "other", "aa")] == [
        f"file:/{path}" for path in ("b/y", "a/z", "a", "a", "other", "aa")
    ]
