"""`metastore demo` with a stand-in for its Spark part, so that only starting and stopping is tested."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from metastore.cli.demo import show_console

pytestmark = pytest.mark.slow

# `python -m` searches the working directory first.
STAND_IN = """
import signal, socket, sys
from urllib.parse import urlsplit
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
uri = urlsplit(options["--uri"])
socket.create_connection((uri.hostname, uri.port)).close()
print("demonstration", options["--warehouse"], flush=True)
signal.pause() if {waits} else sys.exit(7)
"""


@contextmanager
def demo(data_dir: Path, *, waits: bool) -> Iterator[subprocess.Popen[str]]:
    package = data_dir.parent / "work" / "spark_client"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "demo.py").write_text(STAND_IN.format(waits=waits))
    # A shell starts programs in the background with SIGINT ignored, and the tests may be one of them.
    handled = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = f"{handled}; from metastore.cli import main; main()"
    command = [sys.executable, "-c", program, "demo", "--data-dir", str(data_dir)]
    environment = {**os.environ, "METASTORE_DATABASE_URL": "postgresql://somebody@elsewhere:1/production"}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    with subprocess.Popen(
        command, cwd=package.parent, env=environment, stdout=-1, stderr=-1, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def users_of(folder: Path) -> list[str]:
    """Returns running processes that name the folder: the server, its workers, PostgreSQL."""
    actual = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = " ".join(process.info["cmdline"] or [])
        if str(folder) in line and process.info["status"] != psutil.STATUS_ZOMBIE and process.pid != os.getpid():
            actual.append(line)
    return actual


def test_the_status_of_the_demonstration_is_passed_on(data_dir: Path) -> None:
    with demo(data_dir, waits=False) as process:
        output, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (7, "")
    assert f"demonstration {data_dir}/warehouse" in output
    assert (data_dir / "metastore.log").exists()
    assert users_of(data_dir) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_stops_everything(number: signal.Signals, data_dir: Path) -> None:
    with demo(data_dir, waits=True) as process:
        assert process.stdout is not None
        while "demonstration" not in (line := process.stdout.readline()):
            assert line, process.communicate()
        assert users_of(data_dir)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            process.send_signal(number)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "metastore" not in errors.replace(str(data_dir.parent), "")
    assert users_of(data_dir) == []


def test_a_server_that_does_not_start_is_one_line(data_dir: Path) -> None:
    with demo(data_dir / "with blanks", waits=False) as process:
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "demonstration" not in output
    assert errors.startswith("metastore: data folder")
    assert errors.count("\n") == 1


def test_it_ends_by_naming_the_pages_of_its_console(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(signal, "pause", stopped)
    show_console("http://127.0.0.1:1234")
    assert re.findall(r"http://127.0.0.1:1234(\S+)", capsys.readouterr().out) == [
        "/tables/hive/demo/flights_by_day/partitions",
        "/tables/hive/demo/flights/skew",
    ]
