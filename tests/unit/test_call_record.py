"""A reported error does not keep its call in memory."""

from __future__ import annotations

from metastore.protocol.call_record import release


def failed(before: Exception | None = None) -> Exception:
    """Returns an error that was raised, so that it has a traceback."""
    try:
        raise ValueError("said") from before
    except ValueError as error:
        return error


def test_errors_lose_their_frames_and_each_other() -> None:
    first = failed()
    second = failed(first)
    release(second)
    assert first.__traceback__ is second.__traceback__ is None
    assert second.__cause__ is None


def test_errors_may_come_before_each_other_in_a_circle() -> None:
    first = failed()
    second = failed(first)
    first.__context__ = second
    release(second)
    assert first.__traceback__ is second.__traceback__ is None
