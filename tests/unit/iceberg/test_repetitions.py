"""What a client is told of a request that has failed, by what could be recorded."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest

from metastore.context import RequestKey
from metastore.errors import AlreadyExistsError, LockTimeoutError, UnavailableError
from metastore.iceberg.errors import RestError, commit_failed
from metastore.iceberg.reading import Reader
from metastore.iceberg.repetitions import Answer, Repetitions
from metastore.iceberg.texts import MetadataTexts
from tests.unit.iceberg.fakes import raising

KEY, PARTS = str(uuid4()), ("POST /", b"")


def repetitions(record: Callable[[RequestKey], None], *, found: list[RequestKey] | None = None) -> Repetitions:
    reader = Reader(raising(), MetadataTexts(None), raising())  # type: ignore[arg-type] # reads no file here
    return Repetitions(lambda *_: found.pop() if found else None, record, lambda: "me", reader)


def fails() -> Answer:
    raise commit_failed("the table has changed" + "!" * 10_000)


def test_a_failure_is_recorded_with_a_short_message() -> None:
    recorded: list[RequestKey] = []
    with pytest.raises(RestError) as first:
        repetitions(recorded.append).answer(KEY, PARTS, fails)
    assert len(recorded[0].body or "") < 5000
    with pytest.raises(RestError) as second:
        repetitions(recorded.append, found=recorded).answer(KEY, PARTS, dict)
    assert second.value.body == first.value.body


@pytest.mark.parametrize("error", [LockTimeoutError("locked"), UnavailableError("PostgreSQL is gone")])
def test_a_failure_that_cannot_be_recorded_is_not_final(error: Exception) -> None:
    """Another server may be about to commit the same request: its client must not delete its files."""
    with pytest.raises(RestError) as answered:
        repetitions(raising(error)).answer(KEY, PARTS, fails)
    assert answered.value.status == 503


def test_an_answer_of_another_server_counts() -> None:
    def record(request: RequestKey) -> None:
        known.append(RequestKey("me", KEY, request.digest, body="{}"))
        raise AlreadyExistsError(KEY)

    known: list[RequestKey] = []
    assert repetitions(record, found=known).answer(KEY, PARTS, fails) == {}
