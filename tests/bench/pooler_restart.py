"""Restarts PgBouncer under eight writers: `python -m tests.bench.pooler_restart`. Writers repeat a failed call once.

Prints the acknowledged and the stored partitions, and the calls that failed twice.
"""

from __future__ import annotations

import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import click
from sqlalchemy.engine import make_url
from thrift.Thrift import TApplicationException

from migrations import runner
from tests.fixtures.database import reachable_folder
from tests.fixtures.installed_postgres import free_port, installed_postgres, unprivileged
from tests.fixtures.server import Server, connected, running
from tests.wire.builders import new_table, partition
from thrift_idl.gen.hive_metastore.ttypes import AlreadyExistsException, MetaException

WRITERS, RESTARTS = 8, 3
INTERVAL, PAUSE = 3.0, 1.0  # seconds between restarts, and before a call is repeated


class Writer(threading.Thread):
    """Adds partitions until it is stopped."""

    def __init__(self, server: Server, database: str, table: str, number: int, stop: threading.Event) -> None:
        super().__init__()
        self._server, self._table, self._number, self._stopped = server, (database, table), number, stop
        self.acknowledged = self.repeated = 0
        self.failed: list[str] = []

    def run(self) -> None:
        with connected(self._server) as client:
            count = 0
            while not self._stopped.is_set():
                count += 1
                self._add(client, f"w{self._number}-{count}")

    def _add(self, client: object, value: str) -> None:
        for attempt in range(2):
            try:
                client.add_partition(partition(*self._table, [value]))  # type: ignore[attr-defined]
            except AlreadyExistsException:  # the first attempt was committed
                pass
            except (MetaException, TApplicationException) as error:
                self.repeated += 1
                if attempt:
                    self.failed.append(str(error))
                time.sleep(PAUSE)
                continue
            self.acknowledged += 1
            return


def main() -> None:
    with reachable_folder() as folder, installed_postgres(folder, tls=False) as url, tempfile.TemporaryDirectory() as d:
        runner.upgrade(url)
        target, port, file = make_url(url), free_port(), folder / "pgbouncer.ini"
        file.write_text(
            f"[databases]\n* = host=127.0.0.1 port={target.port} user={target.username} password={target.password}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = any\npool_mode = transaction\n"
            f"unix_socket_dir =\ndefault_pool_size = 4\n"
        )
        folder.chmod(0o755)
        pooler = start(file)
        pooled = f"postgresql+psycopg2://any@127.0.0.1:{port}/{target.database}"
        stop = threading.Event()
        try:
            with running(pooled, Path(d), "--database-pooler", "transaction", "--workers", "2") as server:
                with connected(server) as client:
                    database, table = new_table(client, [("ds", "string")])
                writers = [Writer(server, database, table, number, stop) for number in range(WRITERS)]
                for writer in writers:
                    writer.start()
                for _ in range(RESTARTS):
                    time.sleep(INTERVAL)
                    pooler.send_signal(signal.SIGKILL)
                    pooler.wait()
                    pooler = start(file)
                time.sleep(INTERVAL)
                stop.set()
                for writer in writers:
                    writer.join()
                with connected(server) as client:
                    stored = len(client.get_partition_names(database, table, -1))
        finally:
            stop.set()
            pooler.kill()
            pooler.wait()
    failed = [text for writer in writers for text in writer.failed]
    click.echo(f"acknowledged {sum(writer.acknowledged for writer in writers)}, stored {stored}")
    click.echo(f"repeated {sum(writer.repeated for writer in writers)}, failed twice {len(failed)} {failed[:1]}")


def start(file: Path) -> subprocess.Popen[bytes]:
    command = ["/usr/sbin/pgbouncer", "--quiet", str(file)]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL, **unprivileged())  # type: ignore[call-overload,no-any-return]


if __name__ == "__main__":
    main()
