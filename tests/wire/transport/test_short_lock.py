"""A thread that waits for the worker pool's lock does not hold it while it waits for the interpreter."""

from __future__ import annotations

import threading

import pytest

from metastore.transport import admission
from metastore.transport.admission import ShortLock


def test_the_lock_is_taken_only_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    lock, calls = ShortLock(), list[str]()

    class Recorded:
        def acquire(self, *, blocking: bool) -> bool:
            calls.append(f"acquire {blocking=}")
            return len(calls) > 3

    monkeypatch.setattr(lock, "_lock", Recorded())
    monkeypatch.setattr(admission.time, "sleep", lambda _: calls.append("pause"))
    assert lock.acquire()
    assert calls == ["acquire blocking=False", "pause"] * 2 + ["acquire blocking=False"]


def test_one_thread_at_a_time_has_the_lock() -> None:
    lock, ready = ShortLock(), threading.Event()
    changed = threading.Condition(lock)  # type: ignore[arg-type] # it uses acquire and release only
    found = list[bool]()

    def wait() -> None:
        with changed:
            ready.set()
            found.append(changed.wait_for(lambda: bool(found), 60) or not lock.acquire(blocking=False))

    thread = threading.Thread(target=wait)
    thread.start()
    ready.wait(60)
    with lock:  # free while the thread waits for the condition
        assert not lock.acquire(blocking=False)
        found.append(True)
        changed.notify_all()
    thread.join(60)
    assert found == [True, True]
    assert lock.acquire(blocking=False)
