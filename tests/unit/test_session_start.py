"""What the start of a session does beside Java's start."""

from __future__ import annotations

import subprocess
from threading import Event, Thread

import pytest

from spark_client.jvm import sessions


def test_nothing_is_imported_while_the_process_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork and an import at the same time can wait for each other for ever."""
    imported = Event()
    monkeypatch.setattr(sessions, "import_module", lambda name: imported.set())
    sessions._forked.clear()
    thread = Thread(target=sessions._import_pandas, daemon=True)
    thread.start()
    assert not imported.wait(timeout=0.05)
    # With a function, subprocess forks. PySpark passes one.
    subprocess.run(["true"], check=True, preexec_fn=lambda: None)
    assert imported.wait(timeout=30)
    thread.join()
