"""Leases and positions of sinks: one holder, fenced, whatever the clock of the database was."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from metastore.domain.cloud_events import Message
from metastore.errors import ConflictError
from metastore.services.sinks import SinkAdministration, SinkService
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from metastore.storage.repositories.sinks import Move, Place
from metastore.storage.unit_of_work import Store
from tests.fixtures.database import execute

MESSAGE = Message(1, "1@x", "d.t", '{"ü": 1}'.encode())


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    settings = Settings(database_url=database_url, warehouse="/w")
    made = Store(make_engine(settings, database_url, size=2), settings)
    yield made
    made.close()


def test_one_server_holds_a_sink_until_its_lease_ends(store: Store, database_url: str) -> None:
    first, second = SinkService(store, uuid4()), SinkService(store, uuid4())
    assert first.claim("s", 60) == Place(0, "", 0, 0.0)
    assert (second.claim("s", 60), second.look("s")) == (None, None)
    assert first.claim("s", 60)
    execute(database_url, "UPDATE event_sinks SET held_until = now() - interval '1 s'")
    assert second.claim("s", 60)
    assert first.look("s") is None
    with pytest.raises(ConflictError, match="another position or another sender"):
        first.move("s", 60, Move(0, 5, ""))
    second.move("s", 60, Move(0, 5, "e", sent=2))
    with pytest.raises(ConflictError):
        second.move("s", 60, Move(0, 6, "e"))  # as after a restore of the database
    second.release("s")
    assert first.claim("s", 60) == Place(5, "e", 0, 0.0)


def test_a_clock_that_jumped_back_locks_nobody_out(store: Store, database_url: str) -> None:
    first, second = SinkService(store, uuid4()), SinkService(store, uuid4())
    first.claim("s", 60)
    first.move("s", 60, Move(0, 0, "", failed=1, attempts=1, error="no", delay=5))
    execute(database_url, "UPDATE event_sinks SET held_until = now() + '1 year', retry_at = now() + '1 year'")
    assert second.claim("s", 60) == Place(0, "", 1, 86_400)


def test_a_disabled_sink_is_held_by_nobody_until_it_is_resumed(store: Store) -> None:
    service, sinks = SinkService(store, uuid4()), SinkAdministration(store)
    service.claim("s", 60)
    service.move("s", 60, Move(0, 3, "", failed=1, attempts=1, error="410", is_gone=True))
    assert (service.claim("s", 60), service.look("s")) == (None, None)
    (state,) = sinks.states()
    assert (state["is_disabled"], state["position"], state["error"], state["failed"]) == (True, 3, "410", 1)
    sinks.resume("s")
    assert service.claim("s", 60) == Place(3, "", 0, 0.0)


def test_dead_letters_are_kept_as_they_were(store: Store) -> None:
    service, sinks = SinkService(store, uuid4()), SinkAdministration(store)
    service.claim("s", 60)
    service.move("s", 60, Move(0, 1, "", failed=1, error="no"), MESSAGE)
    service.move("s", 60, Move(1, 2, "", failed=1, error="no"), MESSAGE)
    assert service.requested("s") == []
    assert sinks.resend("s", None) == 2
    (first, message), (second, _) = service.requested("s")
    assert message == MESSAGE
    service.answered("s", [first], (second, "still no"))
    assert [(each["id"], each["error"], each["is_requested"]) for each in sinks.letters("s", 9)] == [
        (second, "still no", False)
    ]
    sinks.forget("s")
    assert (sinks.letters(None, 9), sinks.states()) == ([], [])
