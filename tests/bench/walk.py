"""Counts the files, lines, function calls and SQL statements of a call in the server: python -m tests.bench.walk
[CALL …] [--partitions 3] [--components] [--show 40].

For each call it prints the number of the project's files that ran, their lines, how many of these lines ran, how often
a function of one file called a function of another (`crossings`), the same between components, and the SQL statements;
with `--components`, the lines by component. The server runs in this process, with its own connections, threads and
PostgreSQL; each call is warm. Background work is not counted. To compare two revisions, copy this file and `tracer.py`
into a checkout of the other one, and change the names of classes here that it does not have.
"""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from metastore.app.worker import make_application
from metastore.client.sasl import Plain, SaslTransport
from metastore.identity import PASSWORD
from metastore.security.passwords import PasswordFile
from metastore.settings import Settings
from metastore.storage.postgres.embedded import EmbeddedPostgres
from metastore.transport.listener import Listener
from metastore.transport.options import TransportOptions
from metastore.transport.worker_pool import WorkerPool
from migrations import runner
from tests.bench.tracer import Tracer
from tests.wire.builders import columns, descriptor, partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database
from thrift_idl.gen.metastore import Metastore
from thrift_idl.gen.metastore.ttypes import UndropRequest

DATABASE: Final = "walked"
USER, SECRET = "walker", "secret"


class Server:
    """The threads and connections of one worker, in this process."""

    def __init__(self, settings: Settings, database_url: str) -> None:
        self.application = make_application(settings, database_url)
        self._pool = WorkerPool(TransportOptions(), self.application.open_session)
        self._pool.start()
        self._connections = 0

    def connect(self, *, sasl: bool = False) -> Any:
        """Returns a client with its own connection; with SASL, it is not authenticated yet."""
        ours, theirs = socket.socketpair()
        self._connections += 1
        listener = Listener()
        if sasl:
            listener = Listener(authentication=frozenset((PASSWORD,)), authenticator=self.application.authenticator)
        self._pool.admit(theirs, f"127.0.0.1:{self._connections}", listener)
        below = TSocket()
        below.setHandle(ours)
        transport = SaslTransport(below, Plain(USER, SECRET)) if sasl else TBufferedTransport(below)
        return Metastore.Client(TBinaryProtocolAccelerated(transport))


class Calls:
    """The calls. Each method prepares one and returns it; `turn` makes the names of its objects unique."""

    def __init__(self, server: Server, partitions: int) -> None:
        self._server = server
        self._client = server.connect()
        self._partitions = partitions
        self._client.create_database(Database(name=DATABASE))

    def get_table(self, turn: int) -> Callable[[], Any]:
        name = self._table(f"get_{turn}")
        return lambda: self._client.get_table(DATABASE, name)

    def get_partitions_by_filter(self, turn: int) -> Callable[[], Any]:
        name = self._filled(f"filter_{turn}")
        return lambda: self._client.get_partitions_by_filter(DATABASE, name, "p >= '1'", -1)

    def add_partitions(self, turn: int) -> Callable[[], Any]:
        name = self._table(f"add_{turn}")
        added = [self._partition(name, number) for number in range(self._partitions)]
        return lambda: self._client.add_partitions(added)

    def create_table(self, turn: int) -> Callable[[], Any]:
        return lambda: self._table(f"create_{turn}")

    def drop_table(self, turn: int) -> Callable[[], Any]:
        name = self._filled(f"drop_{turn}")
        return lambda: self._client.drop_table(DATABASE, name, True)

    def undrop(self, turn: int) -> Callable[[], Any]:
        name = self._filled(f"undrop_{turn}")
        self._client.drop_table(DATABASE, name, True)
        return lambda: self._client.undrop(UndropRequest(DATABASE, name))

    def login(self, turn: int) -> Callable[[], Any]:
        client = self._server.connect(sasl=True)
        return lambda: (client._iprot.trans.open(), client.getName())

    def _table(self, name: str) -> str:
        sd = descriptor(cols=columns(*((f"c{number}", "int") for number in range(5))))
        self._client.create_table(table(DATABASE, name, [("p", "string")], sd=sd))
        return name

    def _filled(self, name: str) -> str:
        self._table(name)
        self._client.add_partitions([self._partition(name, number) for number in range(self._partitions)])
        return name

    def _partition(self, name: str, number: int) -> Any:
        sd = descriptor(cols=columns(*((f"c{column}", "int") for column in range(5))))
        return partition(DATABASE, name, [str(number)], sd=sd)


@contextmanager
def _running() -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL may run as another user
        passwords = folder / "passwords"
        PasswordFile(passwords).add(USER, SECRET)
        settings = Settings(
            data_dir=folder,
            warehouse=f"{folder}/warehouse",
            authentication=PASSWORD,
            password_file=passwords,
            allow_password_without_tls=True,
            slow_call_threshold=3600,  # a busy machine must not add the log lines of slow calls
        )
        with EmbeddedPostgres(folder / "postgres") as postgres:
            runner.upgrade(postgres.url)
            server = Server(settings, postgres.url)
            try:
                yield server
            finally:
                server.application.close()


CALLS: Final = tuple(name for name in vars(Calls) if not name.startswith("_"))


@click.command(help=__doc__)
@click.argument("calls", nargs=-1, type=click.Choice(CALLS))
@click.option("--partitions", default=3, show_default=True, help="Number of partitions that a call reads or changes.")
@click.option("--components", is_flag=True, help="List the lines by component.")
@click.option("--show", default=0, help="Number of crossings to list for each call, the most frequent first.")
def main(calls: Sequence[str], partitions: int, show: int, *, components: bool) -> None:
    """Prints a line for each call."""
    tracer = Tracer()
    tracer.install()
    with _running() as server:
        available = Calls(server, partitions)
        heads = ("files", "their lines", "executed", "crossings", "between components", "statements")
        click.echo(f"{'':<28}" + "".join(f"{head:>{len(head) + 3}}" for head in heads))
        for name in calls or CALLS:
            for turn in range(2):
                getattr(available, name)(turn)()
            tracer.record(getattr(available, name)(2))
            lines = tracer.lines()
            total, crossings = sum(each.total for each in lines.values()), sum(tracer.crossings.values())
            counts = (len(tracer.files), total, len(tracer.executed), crossings)
            counts += (tracer.between_components(), tracer.statements)
            click.echo(f"{name:<28}" + "".join(f"{n:>{len(head) + 3}}" for n, head in zip(counts, heads, strict=True)))
            for component, each in lines.items() if components else ():
                click.echo(f"    {component:<30}{each.executed:>6} of {each.total:>5} lines")
            for each, count in tracer.crossings.most_common(show):
                click.echo(f"{count:>8}  {each.caller} → {each.called} {each.function}")


if __name__ == "__main__":
    main()
