"""The embedded PostgreSQL: shared by processes, and stopped by the last one, even if others were killed."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import psutil
import psycopg2
import pytest
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from metastore.errors import ConfigurationError
from metastore.storage.postgres import embedded
from metastore.storage.postgres.embedded import EmbeddedPostgres, _package, _plain_locale, usable

pytestmark = pytest.mark.slow

USER = """
import sys; from pathlib import Path; from metastore.storage.postgres.embedded import EmbeddedPostgres
with EmbeddedPostgres(Path(sys.argv[1])) as postgres:
    print(postgres.url, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _stopped(data_dir: Path) -> Iterator[None]:
    yield
    pid = postmaster(data_dir)
    if pid is not None:  # a test failed, or ended the last user of the server
        os.kill(pid, signal.SIGKILL)


def postmaster(data_dir: Path) -> int | None:
    """Returns the running server of a folder."""
    try:
        pid = int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0])
        return pid if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE else None
    except (FileNotFoundError, psutil.NoSuchProcess):
        return None


def ask(url: str, question: str) -> object:
    with create_engine(url, poolclass=NullPool).connect() as connection:
        return connection.scalar(text(question))


@contextmanager
def other_process(data_dir: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with subprocess.Popen(
        [sys.executable, "-c", USER, str(data_dir)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()


def test_starts_keeps_its_data_and_stops(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as postgres:
        engine = create_engine(postgres.url, poolclass=NullPool)
        with engine.begin() as connection:
            connection.execute(text("CREATE TABLE kept AS SELECT 'ü' AS value"))
        assert postmaster(data_dir)
    assert postmaster(data_dir) is None
    (data_dir / "postgres.lock").chmod(0o644)  # as earlier versions made it
    with EmbeddedPostgres(data_dir) as postgres:
        assert ask(postgres.url, "SELECT value FROM kept") == "ü"
        assert (data_dir / "postgres.lock").stat().st_mode & 0o777 == 0o600  # others would hold its lock


def test_the_last_user_stops_it(data_dir: Path) -> None:
    with other_process(data_dir) as (process, url):
        with EmbeddedPostgres(data_dir) as postgres:
            assert postgres.url == url
            process.communicate()
            assert postmaster(data_dir)
        assert postmaster(data_dir) is None


def test_two_users_in_one_process(data_dir: Path) -> None:
    first, second = EmbeddedPostgres(data_dir), EmbeddedPostgres(data_dir)
    first.close()
    assert ask(second.url, "SELECT 1") == 1
    second.close()
    second.close()
    assert postmaster(data_dir) is None


def test_a_killed_user_does_not_keep_it_up(data_dir: Path) -> None:
    with other_process(data_dir) as (process, _):
        process.kill()
    assert postmaster(data_dir)
    with EmbeddedPostgres(data_dir):
        pass
    assert postmaster(data_dir) is None


def test_many_concurrent_first_users(data_dir: Path) -> None:
    urls: list[str] = []

    def use() -> None:
        with other_process(data_dir) as (process, url):
            urls.append(url)
            process.communicate()

    users = [threading.Thread(target=use) for _ in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert len(urls) == 4
    assert len(set(urls)) == 1
    assert postmaster(data_dir) is None


def test_starts_after_a_crash_if_another_process_has_the_old_process_id(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir):
        pass
    lines = f"{os.getpid()}\n{data_dir}/postgres\n1700000000\n5432\n{data_dir}/postgres\n\n 1 1\nready\n"
    (data_dir / "postgres" / "postmaster.pid").write_text(lines)
    with EmbeddedPostgres(data_dir) as postgres:
        assert ask(postgres.url, "SELECT 1") == 1


def test_it_has_room_for_the_workers(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir, connections=500) as postgres:
        assert int(str(ask(postgres.url, "SHOW max_connections"))) >= 500
        with pytest.raises(ConfigurationError, match="configure fewer workers") as raised:
            EmbeddedPostgres(data_dir, connections=5000)
        assert "\n" not in str(raised.value)
    with EmbeddedPostgres(data_dir, connections=900) as postgres:
        assert int(str(ask(postgres.url, "SHOW max_connections"))) >= 900


def test_a_locale_that_is_not_installed_does_not_matter(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "xx_XX")
    with EmbeddedPostgres(data_dir) as postgres:
        assert ask(postgres.url, "SELECT 1") == 1
    assert os.environ["LC_ALL"] == "xx_XX"


@pytest.mark.parametrize("name", ["with blanks", "/proc/nowhere", "file/below"])
def test_an_unusable_folder_is_one_line(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="--data-dir") as raised:
        EmbeddedPostgres(tmp_path / name)
    assert "\n" not in str(raised.value)


def test_a_directory_that_is_no_cluster_is_left_alone(data_dir: Path) -> None:
    (data_dir / "postgres").mkdir(parents=True)
    (data_dir / "postgres" / "letter").write_text("dear")
    with pytest.raises(ConfigurationError, match="not empty and not a PostgreSQL cluster: move it"):
        EmbeddedPostgres(data_dir)
    assert [path.name for path in (data_dir / "postgres").iterdir()] == ["letter"]


def test_a_broken_cluster_is_one_line(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with EmbeddedPostgres(data_dir):
        pass
    (data_dir / "postgres" / "global" / "pg_control").unlink()
    with pytest.raises(ConfigurationError, match="does not start") as raised:
        EmbeddedPostgres(data_dir)
    assert "\n" not in str(raised.value)
    assert "postgres/log" in str(raised.value)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(ConfigurationError, match="does not start: disk_full: free or add space there"):
        EmbeddedPostgres(data_dir)


def test_a_folder_of_an_older_major_version_is_upgraded_and_kept(data_dir: Path) -> None:
    data_dir.mkdir()
    with _plain_locale():
        old = _package().get_server(data_dir / "postgres", cleanup_mode=None, postgres_version=16)
    old.psql("CREATE DATABASE metastore ENCODING 'UTF8' TEMPLATE template0")
    old.psql("\\c metastore\nCREATE TABLE kept AS SELECT 42 AS answer")
    old.stop()
    old.cleanup()
    with EmbeddedPostgres(data_dir) as postgres:
        assert ask(postgres.url, "SELECT answer FROM kept") == 42
        assert str(ask(postgres.url, "SHOW server_version")).startswith("18")
        assert ask(postgres.url, "SHOW max_connections") == "200"
    assert (data_dir / "postgres-16" / "PG_VERSION").read_text() == "16\n"
    assert postmaster(data_dir) is None


@contextmanager
def no_process_waits() -> Iterator[None]:
    """Keeps orphaned processes as zombies, as in a container whose first process does not reap its children."""
    become_subreaper = 36  # prctl(2)
    library = ctypes.CDLL(None)
    assert library.prctl(become_subreaper, 1, 0, 0, 0) == 0
    try:
        yield
    finally:
        library.prctl(become_subreaper, 0, 0, 0, 0)


def test_a_killed_server_is_started_again(data_dir: Path) -> None:
    with no_process_waits(), EmbeddedPostgres(data_dir) as postgres:
        end, lifeline = os.pipe()
        keeper = multiprocessing.get_context("fork").Process(target=postgres.keep_running, args=(end,))
        keeper.start()
        worker = threading.Thread(target=answers, args=(postgres.url, "SELECT sum(n) FROM generate_series(1, 1e10) n"))
        worker.start()  # it sleeps for an hour and does not notice that its server died
        at_work = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%1e10%' AND pid <> pg_backend_pid()"
        assert eventually(lambda: ask(postgres.url, at_work) == 1)
        killed = postmaster(data_dir)
        os.kill(killed, signal.SIGKILL)
        assert eventually(lambda: psutil.Process(killed).status() == psutil.STATUS_ZOMBIE)
        assert eventually(lambda: postmaster(data_dir) not in (None, killed))
        assert eventually(lambda: answers(postgres.url))
        os.write(lifeline, b"1")
        keeper.join(10)
        assert keeper.exitcode == 0
        worker.join()
        os.close(lifeline)
        os.close(end)
        os.waitpid(killed, 0)
    assert postmaster(data_dir) is None, "the new one is stopped as the first would have been"


def test_the_log_to_replay_is_bounded(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as postgres:
        megabyte = "pg_logical_emit_message(false, '', repeat('x', 1048576))"
        bounded = "SELECT pg_current_wal_lsn() - redo_lsn < 64 * 1048576 FROM pg_control_checkpoint()"

        def is_bounded(written: int) -> bool:
            ask(postgres.url, f"SELECT count({megabyte}) FROM generate_series(1, {written})")
            return bool(answers(postgres.url, bounded))

        # A checkpoint takes minutes on an idle server. It keeps pace with what is written meanwhile.
        assert is_bounded(200) or eventually(lambda: is_bounded(1)), "by default, after a gigabyte or five minutes"


def test_the_size_of_its_log_is_limited(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_LONGEST_LOG", 10_000)
    with EmbeddedPostgres(data_dir) as postgres:
        log = data_dir / "postgres" / "log"
        end, lifeline = os.pipe()
        keeper = multiprocessing.get_context("fork").Process(target=postgres.keep_running, args=(end,))
        for number in range(200):
            assert not answers(postgres.url, f"SELECT 1/(1-1) AS a_statement_of_{number}")
        written = log.read_text()
        assert len(written) > 10_000
        assert "division by zero" in written
        assert "a_statement_of" not in written, "what is in statements is nobody's business"
        keeper.start()
        assert eventually(lambda: log.stat().st_size < 6_000)
        assert written.endswith(log.read_text()), "whole lines, the last ones"
        assert not answers(postgres.url, "SELECT 'later'::int")
        assert eventually(lambda: '"later"' in log.read_text())
        assert log.read_bytes().count(0) == 0, "written behind what was kept"
        os.write(lifeline, b"1")
        keeper.join(10)
        os.close(lifeline)
        os.close(end)


def answers(url: str, question: str = "SELECT 1") -> bool:
    try:
        return ask(url, question) == 1
    except DBAPIError:
        return False


def eventually(condition: Callable[[], bool]) -> bool:
    """Polls until the condition is true, or fails after the time limit."""
    deadline = time.monotonic() + 60  # a checkpoint takes as long as the disk takes
    while not (result := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return result


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_other_users_of_the_machine_are_rejected(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as postgres:
        folder = data_dir / "postgres"
        assert folder.stat().st_mode & 0o077 == 0
        assert "trust" not in (folder / "pg_hba.conf").read_text()
        for location in (folder, folder / ".s.PGSQL.5432"):  # as if the socket lay where everybody may reach it
            location.chmod(0o777)
        child = os.fork()
        if not child:
            os.setgroups([])
            os.setuid(65534)
            try:
                psycopg2.connect(make_url(postgres.url).set(drivername="postgresql").render_as_string())
            except psycopg2.OperationalError as error:
                os._exit(7 if "Peer authentication failed" in str(error) else 8)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        folder.chmod(0o700)
        assert ask(postgres.url, "SELECT 1") == 1


def test_the_data_folder_is_its_owners(tmp_path: Path) -> None:
    assert usable(tmp_path / "a" / "data").stat().st_mode & 0o777 == 0o700


def test_no_lock_file_is_shared_with_other_users_of_the_machine() -> None:
    """The package's own lock is a file in /tmp that belongs to the first user."""
    assert not hasattr(_package().postgres_server.PostgresServer._lock, "path")
