"""Passwords of the database user from a file or a command: read for each connection, so that they can be rotated."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from metastore.cli.commands import run
from metastore.errors import ConfigurationError, MetastoreError, UnavailableError
from metastore.settings import Settings, database_url
from metastore.storage.postgres.connect import PasswordError, connect, parameters_of
from metastore.storage.postgres.engine import make_engine
from metastore.storage.postgres.listener import Listener
from metastore.storage.unit_of_work import Store
from migrations import runner
from tests.fixtures.database import execute, reachable_folder
from tests.fixtures.installed_postgres import installed_postgres


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with reachable_folder() as folder, installed_postgres(folder, tls=False) as address:
        yield address


@pytest.fixture
def role(server: str) -> str:
    """A database whose owner, `rotating`, has the password `old`."""
    execute(server, "DROP DATABASE IF EXISTS catalog WITH (FORCE)")
    execute(server, "DROP ROLE IF EXISTS rotating")
    execute(server, "CREATE ROLE rotating LOGIN PASSWORD 'old'")
    execute(server, "CREATE DATABASE catalog OWNER rotating TEMPLATE template0 ENCODING 'UTF8'")
    return f"postgresql://rotating@127.0.0.1:{make_url(server).port}/catalog"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_text("old\n")
    return path


def from_file(role: str, file: Path) -> Settings:
    return Settings(database_url=role, database_password_file=file, pool_size=8, workers=1)


def test_every_program_reads_the_file(
    role: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--database-url", role, "--database-password-file", str(file)]
    for command in (["upgrade"], ["current"], ["servers"], ["verify"], ["backup", str(tmp_path / "copy")]):
        assert run(["db", *command, *options]) == 0, capsys.readouterr()
    output = capsys.readouterr().out
    assert str(file) not in output
    assert "old" not in output


def test_a_backup_is_restored_with_a_password_from_a_command(
    role: str, file: Path, tmp_path: Path, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--database-url", role, "--database-password-command", f"cat '{file}'"]
    assert run(["db", "upgrade", *options]) == 0
    assert run(["db", "backup", str(tmp_path / "copy"), *options]) == 0
    execute(server, "DROP DATABASE catalog WITH (FORCE)")
    execute(server, "CREATE DATABASE catalog OWNER rotating TEMPLATE template0 ENCODING 'UTF8'")
    assert run(["db", "restore", str(tmp_path / "copy"), *options]) == 0, capsys.readouterr()


def test_a_rotation_under_load_fails_no_call(role: str, file: Path, server: str) -> None:
    """The role's password changes first, its file later, and is empty in between; connections are terminated."""
    settings = from_file(role, file)
    runner.upgrade(str(settings.database_url))
    store = Store(make_engine(settings, str(settings.database_url)), settings)
    execute(database_url(role.replace("rotating@", "rotating:old@")), "CREATE TABLE written (number int)")
    stop, failures, writes = threading.Event(), [], [0] * 8

    def write(number: int) -> None:
        while not stop.is_set():
            for attempt in range(2):  # a client repeats a call whose connection was cut
                try:
                    with store.transaction() as work:
                        work.connection.execute(text("INSERT INTO written VALUES (1)"))
                    writes[number] += 1
                    break
                except MetastoreError as error:
                    if attempt:
                        failures.append(str(error))

    try:
        with ThreadPoolExecutor(8) as pool:
            running = [pool.submit(write, number) for number in range(8)]
            for password in ("first", "second", "third"):
                execute(server, f"ALTER ROLE rotating PASSWORD '{password}'")
                execute(server, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'rotating'")
                file.write_text("")
                time.sleep(0.3)
                before = sum(writes)
                file.write_text(password)
                deadline = time.monotonic() + 10
                while sum(writes) < before + 100 and time.monotonic() < deadline:
                    time.sleep(0.01)
                assert sum(writes) >= before + 100
            stop.set()
            for each in running:
                each.result()
    finally:
        stop.set()
        store.close()
    assert failures == []
    with make_engine(settings, str(settings.database_url)).connect() as connection:
        assert (connection.scalar(text("SELECT count(*) FROM written")) or 0) >= sum(writes)


@pytest.mark.parametrize(
    ("content", "reason"), [("", "is empty"), (None, "No such file"), (b"\xff\xff", "cannot be read")]
)
def test_an_unusable_file_is_named(
    role: str, tmp_path: Path, content: str | bytes | None, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metastore.storage.postgres.connect._PATIENCE", 0.0)
    file = tmp_path / "password"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    url = str(from_file(role, file).database_url)
    with pytest.raises(PasswordError, match=reason):
        connect(parameters_of(url))
    with pytest.raises(UnavailableError, match=reason):
        runner.current(url)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("false", "ended with status 1"),
        ("true", "printed nothing"),
        ("/no/such/program secret", "No such file"),
        ("sh -c 'echo token expired >&2; exit 3'", "status 3: token expired"),
    ],
)
def test_a_failed_command_is_named(role: str, command: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metastore.storage.postgres.connect._PATIENCE", 0.0)
    url = str(Settings(database_url=role, database_password_command=command).database_url)
    with pytest.raises(UnavailableError, match=reason) as raised:
        runner.current(url)
    assert "secret" not in str(raised.value)


def test_a_wrong_password_is_a_wrong_setting(role: str, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metastore.storage.postgres.connect._PATIENCE", 0.0)
    file.write_text("wrong")
    with pytest.raises(ConfigurationError, match="check user, password and database"):
        runner.current(str(from_file(role, file).database_url))


def test_the_listener_reads_the_new_password(role: str, file: Path, server: str) -> None:
    execute(server, "ALTER ROLE rotating PASSWORD 'new'")
    changing = threading.Timer(0.5, file.write_text, ["new"])
    changing.start()
    listener = Listener(str(from_file(role, file).database_url))
    try:
        listener.count(10)
        assert listener._listening
    finally:
        listener.close()
        changing.join()


def test_several_hosts_with_a_password_file(role: str, file: Path) -> None:
    port = make_url(role).port
    url = Settings(
        database_url=f"postgresql://rotating@127.0.0.1:1,127.0.0.1:{port}/catalog", database_password_file=file
    ).database_url
    runner.upgrade(str(url))
    assert runner.current(str(url)) == runner.head()


def test_copied_settings_have_one_source(role: str, file: Path) -> None:
    settings = from_file(role, file)
    assert replace(settings, pool_size=3).database_url == settings.database_url


@pytest.mark.parametrize(
    "settings",
    [
        {"database_url": "postgresql://a:b@h/d", "database_password_file": Path("x")},
        {"database_url": "postgresql://a@h/d?password=b", "database_password_command": "x"},
        {"database_url": "postgresql://a@h/d", "database_password_file": Path("x"), "database_password_command": "x"},
        {"database_password_file": Path("x")},
        {"database_url": "postgresql://a@h/d", "database_password_command": "x 'y"},
    ],
)
def test_contradictions_are_rejected(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match="database"):
        Settings(**settings)  # type: ignore[arg-type]
