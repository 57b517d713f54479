"""MariaDB, as MySQL, with the schema scripts of Hive's releases."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.fixtures.hive_schema import HiveDatabase
from tests.fixtures.real_hive import free_port
from tests.interop.maven import UnavailableError, fetched

SCRIPTS = {
    "3.1": ("org.apache.hive:hive-standalone-metastore:3.1.3", "mysql/hive-schema-3.1.0.mysql.sql"),
    "4.0": ("org.apache.hive:hive-standalone-metastore-server:4.0.1", "mysql/hive-schema-4.0.0.mysql.sql"),
}
USER = "mover"
PASSWORD = "p@ss/word"


class MySqlHiveDatabase(HiveDatabase):
    """A database with Hive's schema, on MariaDB. Foreign keys are not checked, so that orphans can be made."""

    @cached_property
    def _connection(self) -> Any:
        import pymysql

        match = re.fullmatch(r"mysql://.*@127.0.0.1:(\d+)/(\w+)", self.url)
        assert match
        mode = "SET SESSION sql_mode = 'ANSI_QUOTES', foreign_key_checks = 0"
        return pymysql.connect(
            host="127.0.0.1",
            port=int(match[1]),
            user="root",
            database=match[2],
            charset="utf8mb4",
            autocommit=True,
            init_command=mode,
        )

    def execute(self, statement: str, *values: Any) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, [_bytes(value) for value in values])

    def content(self) -> str:
        return repr({table: sorted(map(repr, self.rows(f'SELECT * FROM "{table}"'))) for table in self.columns})


def _bytes(value: Any) -> Any:
    """Returns a text as UTF-8 bytes, which are stored unchanged: Hive's driver writes UTF-8 into latin1 columns."""
    return value.encode() if isinstance(value, str) else value


@contextmanager
def mariadb(folder: Path) -> Iterator[int]:
    """Starts a server in the folder, and yields its port. Raises UnavailableError."""
    if not shutil.which("mariadbd"):
        raise UnavailableError("mariadbd is not on the PATH (Debian: apt-get install mariadb-server)")
    folder.chmod(0o755)
    data, port, socket = folder / "data", free_port(), folder / "socket"
    run_as = ["--user=mysql"]
    install = ["mariadb-install-db", f"--datadir={data}", "--auth-root-authentication-method=normal", *run_as]
    shutil.chown(folder, "mysql")
    subprocess.run([*install, "--skip-test-db"], check=True, capture_output=True, timeout=120)
    options = [
        f"--datadir={data}",
        f"--port={port}",
        "--bind-address=127.0.0.1",
        f"--socket={socket}",
        "--skip-log-bin",
    ]
    process = subprocess.Popen(["mariadbd", "--no-defaults", *run_as, *options], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not socket.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        _script(
            socket,
            "",
            f"CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';CREATE USER IF NOT EXISTS root@'127.0.0.1';",
        )
        _script(socket, "", f"GRANT SELECT ON *.* TO {USER}@'127.0.0.1';GRANT ALL ON *.* TO root@'127.0.0.1';")
        yield port
    finally:
        process.terminate()
        process.wait(timeout=60)


def hive_on_mariadb(folder: Path, port: int, version: str, name: str | None = None) -> MySqlHiveDatabase:
    """Creates a database by the schema script of a release."""
    name = name or f"hive_{version.replace('.', '_')}"
    artifact, path = SCRIPTS[version]
    with tarfile.open(fetched(artifact, "-bin.tar.gz")) as release:
        members = [one for one in release.getmembers() if "/upgrade/mysql/" in one.name]
        release.extractall(folder / version, members, filter="data")
    (script,) = (folder / version).rglob(path.rpartition("/")[2])
    _script(folder / "socket", "", f"CREATE DATABASE {name} CHARACTER SET latin1;")
    _script(folder / "socket", name, script.read_text(), cwd=script.parent)
    database = MySqlHiveDatabase(f"mysql://root@127.0.0.1:{port}/{name}", version, {})
    for table, column in database.rows(
        "SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()"
    ):
        database.columns.setdefault(table, {})[column] = ""
    for table in ("NOTIFICATION_SEQUENCE", "CTLGS"):
        database.execute(f'DELETE FROM "{table}"')
    return database


def _script(socket: Path, database: str, text: str, cwd: Path | None = None) -> None:
    command = ["mariadb", f"--socket={socket}", "-uroot", database]
    subprocess.run(command, input=text.encode(), check=True, capture_output=True, cwd=cwd, timeout=120)
