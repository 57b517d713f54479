"""PgBouncer, whose sessions are not PostgreSQL's, is rejected with the name of the setting that causes it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from metastore.errors import ConfigurationError
from metastore.settings import Settings
from metastore.storage.postgres.pooler import check_pooler
from tests.fixtures.database import reachable_folder
from tests.fixtures.installed_postgres import free_port, installed_postgres, unprivileged

PROGRAM = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin")


def test_direct_connection_is_accepted(database_url: str) -> None:
    check_pooler(Settings(), database_url)


@pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed (package pgbouncer)")
@pytest.mark.parametrize(
    ("mode", "ignored", "reason"),
    [
        ("session", "extra_float_digits", "startup parameter options"),
        ("session", "options", "ignore_startup_parameters"),
        ("transaction", "options", "pool_mode = transaction"),
    ],
)
def test_pgbouncer_is_rejected(mode: str, ignored: str, reason: str) -> None:
    port, run_as = free_port(), unprivileged()
    with reachable_folder() as folder, installed_postgres(folder, tls=False) as address:
        target = make_url(address)
        database = f"host=127.0.0.1 port={target.port} user={target.username} password={target.password}"
        (folder / "pgbouncer.ini").write_text(
            f"[databases]\n{target.database} = {database}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
            f"auth_type = any\npool_mode = {mode}\nignore_startup_parameters = {ignored}\nunix_socket_dir =\n"
        )
        folder.chmod(0o755)
        (folder / "pgbouncer.ini").chmod(0o644)
        with subprocess.Popen(
            [str(PROGRAM), str(folder / "pgbouncer.ini")], stderr=subprocess.PIPE, text=True, **run_as
        ) as pooler:
            try:
                assert pooler.stderr is not None
                started: list[str] = []
                assert any("process up" in line or started.append(line) for line in pooler.stderr), started
                url = f"postgresql+psycopg2://any@127.0.0.1:{port}/{target.database}"
                with pytest.raises(ConfigurationError, match=reason):
                    check_pooler(Settings(), url)
            finally:
                pooler.terminate()


def test_unreachable_database_is_left_to_the_schema_check(tmp_path: Path) -> None:
    check_pooler(Settings(), f"postgresql+psycopg2:///x?host={tmp_path}")
