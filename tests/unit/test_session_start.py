"""What the start of a session does beside Java's start."""

from __future__ import annotations

import os
import subprocess
import sys
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


@pytest.mark.parametrize(
    ("requested", "of_java", "expected"),
    [
        ("local[2]", None, sys.executable),
        (None, "local[*]", sys.executable),
        (None, None, sys.executable),
        (None, "local-cluster[1,2,1024]", sys.executable),
        (None, "spark://host:7077", None),
        (None, "yarn", None),
        (None, "k8s://https://host", None),
        ("spark://host:7077", None, None),
    ],
)
def test_the_path_of_python_is_given_to_executors_of_this_machine_only(
    monkeypatch: pytest.MonkeyPatch, requested: str | None, of_java: str | None, expected: str | None
) -> None:
    """`of_java`: the master that spark-submit or spark-defaults.conf names, which only Java knows."""
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    if sessions._choose_python(requested):
        sessions._confirm_python(requested or of_java)
    assert os.environ.get("PYSPARK_PYTHON") == expected


def test_a_python_that_the_user_names_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/python3")
    assert not sessions._choose_python("local[2]")
    assert os.environ["PYSPARK_PYTHON"] == "/usr/bin/python3"
