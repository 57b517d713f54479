"""`metastore calls` names the sessions of PostgreSQL that block a call, and those that blocked a slow one."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from metastore.cli.calls import show_calls
from metastore.settings import Settings
from tests.fixtures.server import Server, connected
from tests.wire.builders import new_table
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore


def test_the_blocking_session_is_shown(
    seen: tuple[Server, str], database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server, url = seen
    with connected(server, ThriftHiveMetastore) as client:
        database, name = new_table(client)
        changed = client.get_table(database, name)
    changed.parameters["changed"] = "yes"

    def alter() -> None:
        with connected(server, ThriftHiveMetastore) as client:
            client.alter_table(database, name, changed)

    engine = create_engine(database_url, connect_args={"application_name": "somebody"})
    waiting = [threading.Thread(target=alter) for _ in range(2)]
    with engine.connect() as blocker:
        blocker.execute(text("SELECT id FROM tables WHERE name = :name FOR UPDATE"), {"name": name}).all()
        pid = blocker.execute(text("SELECT pg_backend_pid()")).scalar_one()
        for thread in waiting:
            thread.start()
        settings = Settings(http_token_file=tmp_path / "http.token", data_dir=tmp_path)
        shown = ""
        for _ in range(100):  # calls are published ten times a second
            show_calls(settings, url, "now")
            shown = " ".join(capsys.readouterr().out.split())
            if "somebody" in shown:
                break
            threading.Event().wait(0.1)
        blocker.rollback()
    engine.dispose()
    for thread in waiting:
        thread.join()
    assert "alter_table" in shown
    assert str(pid) in shown.replace(" ", "")
    assert "idle in transaction" in shown or "idle" in shown
    with connected(server, ThriftHiveMetastore) as client:
        assert client.get_table(database, name).parameters["changed"] == "yes"


def test_the_slow_log_names_the_blocking_lock(
    seen: tuple[Server, str], database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server, url = seen
    engine = create_engine(database_url, connect_args={"application_name": "somebody"})
    with connected(server, ThriftHiveMetastore) as client:
        database, name = new_table(client)
        table = client.get_table(database, name)

        def shown() -> str:
            """Returns the slow calls after one that was blocked for two seconds: sessions are read once a second."""
            with engine.connect() as blocker:
                blocker.execute(text("SELECT id FROM tables WHERE name = :name FOR UPDATE"), {"name": name}).all()
                release = threading.Timer(2.5, blocker.rollback)
                release.start()
                client.alter_table(database, name, table)
                release.join()
            show_calls(Settings(http_token_file=tmp_path / "http.token", data_dir=tmp_path), url, "slow")
            return capsys.readouterr().out

        assert any("somebody" in shown() for _ in range(5))
    engine.dispose()
    assert "blocked_by=[pid " in server.log.read_text()
