"""A backup of a running metastore, restored into another database, gives the same metastore."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.engine import make_url

from metastore.app.worker import Application
from metastore.cli.commands import run
from metastore.storage.postgres import client_programs
from metastore.storage.schema import metadata
from tests.fixtures.application import called
from tests.fixtures.database import execute, reachable_folder
from tests.fixtures.installed_postgres import installed_postgres
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database

Capture = pytest.CaptureFixture[str]
OneLine = Callable[..., str]


def db(command: str, file: Path, url: str, *options: str) -> int:
    return run(["db", command, str(file), "--database-url", url, *options])


@pytest.fixture
def fails(capsys: Capture) -> OneLine:
    """Runs a command that must fail. Returns its line of output."""

    def once(command: str, file: Path, url: str, *options: str) -> str:
        assert db(command, file, url, *options) == 1
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        return said

    return once


def test_a_backup_can_be_restored(
    application: Application,
    database_url: str,
    empty_database_url: str,
    tmp_path: Path,
    capsys: Capture,
) -> None:
    called(application, "create_database", Database("db", "Ümläute; \\. and 'quotes'\n\t"))
    called(application, "create_table", table("db", "t", [("ds", "string")]))
    called(application, "add_partition", partition("db", "t", ["1"]))
    file = tmp_path / "backup"
    assert db("backup", file, database_url) == 0
    assert re.search(r"revision \d+: .*, \d+ bytes", capsys.readouterr().out)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    called(application, "drop_table", "db", "t", True)
    assert db("restore", file, empty_database_url) == 0
    assert "restored from" in capsys.readouterr().out
    assert run(["db", "verify", "--database-url", empty_database_url]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"tables\t1\t0", shown)
    assert re.search(r"partitions\t1\t0", shown)
    assert run(["db", "servers", "--database-url", empty_database_url]) == 0


def test_a_backup_has_no_tokens_and_keys(
    application: Application, database_url: str, empty_database_url: str, tmp_path: Path
) -> None:
    called(application, "add_token", "identifier", "secret")
    called(application, "add_master_key", "key")
    columns = "sequence, identifier, secret, owner, renewer, real_user, issued_at, expires_at, latest_at"
    values = "7, 'i', 's', 'alice', '', '', now(), now() + interval '1 day', now() + interval '1 day'"
    execute(database_url, f"INSERT INTO issued_tokens ({columns}) VALUES ({values})")
    file = tmp_path / "backup"
    assert db("backup", file, database_url) == 0
    assert db("restore", file, empty_database_url) == 0
    for name in ("issued_tokens", "delegation_tokens", "master_keys"):
        assert [count(url, name) for url in (database_url, empty_database_url)] == [1, 0]


def count(url: str, name: str) -> int:
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        return int(connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one())


def test_a_database_that_is_not_empty_is_not_filled(database_url: str, tmp_path: Path, fails: OneLine) -> None:
    file = tmp_path / "backup"
    assert db("backup", file, database_url) == 0
    assert "Restore into an empty database" in fails("restore", file, database_url)
    assert f"{file} already exists" in fails("backup", file, database_url)
    assert "--keep needs a directory" in fails("backup", file, database_url, "--keep", "2")


def test_backups_in_a_directory(database_url: str, tmp_path: Path) -> None:
    names = ["metastore-20240101T000000Z.backup", "metastore-20240102T000000Z.backup", "notes.backup"]
    for name in names:
        (tmp_path / name).touch()
    assert db("backup", tmp_path, database_url, "--keep", "2") == 0
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept[0] == names[1]
    assert re.fullmatch(r"metastore-\d{8}T\d{6}Z.backup", kept[1])
    assert kept[2:] == names[2:]


def test_an_invalid_backup_changes_nothing(
    empty_database_url: str, database_url: str, tmp_path: Path, fails: OneLine, capsys: Capture
) -> None:
    file = tmp_path / "backup"
    assert "Nothing to back up" in fails("backup", file, empty_database_url)
    assert "does not exist" in fails("restore", file, empty_database_url)
    file.write_text("rubbish")
    assert f"{file} is not a backup: metastore db backup writes them" in fails("restore", file, empty_database_url)
    file.unlink()
    assert db("backup", file, database_url) == 0
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    assert f"({file}: is it complete?)" in fails("restore", file, empty_database_url)
    assert run(["db", "current", "--database-url", empty_database_url]) == 0
    assert "revision none" in capsys.readouterr().out


def test_a_backup_contains_everything_except_running_servers() -> None:
    assert {name for name in metadata.tables if name.startswith("server")} == {"servers"}


def test_backup_and_restore_over_required_tls(
    tmp_path_factory: pytest.TempPathFactory, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with reachable_folder() as folder, installed_postgres(folder, tls=True) as url:
        execute(url, "CREATE DATABASE copy")
        copy = make_url(url).set(database="copy").render_as_string(hide_password=False)
        assert run(["db", "upgrade", "--database-url", url]) == 0
        file = tmp_path_factory.mktemp("backup") / "backup"
        assert db("backup", file, url) == 0
        # A container has only the programs of the wheel, which are built without TLS.
        monkeypatch.setenv("PATH", "/nowhere")
        monkeypatch.setattr(client_programs, "_PACKAGE_DIRECTORIES", ())
        file = file.with_name("of-the-wheel")
        assert db("backup", file, url) == 0, capsys.readouterr().err
        assert db("restore", file, f"{copy}?sslmode=require") == 0, capsys.readouterr().err
        assert run(["db", "verify", "--database-url", copy]) == 0


def test_restore_reports_the_error_of_psql(
    database_url: str, empty_database_url: str, tmp_path: Path, fails: OneLine
) -> None:
    file = tmp_path / "backup"
    assert db("backup", file, database_url) == 0
    execute(empty_database_url, "CREATE TABLE tables (id int)")
    message = fails("restore", file, empty_database_url)
    assert 'relation "tables" already exists' in message
    assert "status" not in message


def test_the_error_of_a_newer_backup_names_the_version_to_install(
    database_url: str, empty_database_url: str, tmp_path: Path, capsys: Capture
) -> None:
    execute(database_url, "UPDATE alembic_version SET version_num = '9999'")
    assert db("backup", tmp_path / "backup", database_url) == 0
    assert db("restore", tmp_path / "backup", empty_database_url) == 0
    assert "Install the version of metastore that wrote the backup, or a later one" in capsys.readouterr().out
    assert run(["db", "upgrade", "--database-url", empty_database_url]) == 1
    assert "has the schema of revision 9999, which this version does not know" in capsys.readouterr().err
