"""Counts the files, function calls and SQL statements of a call in the server: python -m tests.bench.walk [CALL …]
[--partitions 3] [--show 40].

For each call it prints the number of the project's files that ran, how often a function of one file called a function
of another (`crossings`), the same between components (`tests/architecture/layers.py`), and the SQL statements. The
server runs in this process, with its own connections, threads and PostgreSQL; each call is warm. Background work is
not counted. To compare two revisions, copy this file into a checkout of the other one.
"""

from __future__ import annotations

import socket
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

import click
from psycopg2.extensions import cursor as PostgresCursor  # type: ignore[import-untyped] # noqa: N812 - it is a class
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from metastore.app import make_application
from metastore.client.sasl import Plain, SaslTransport
from metastore.identity import PASSWORD
from metastore.security.passwords import PasswordFile
from metastore.settings import Settings
from metastore.storage.postgres.embedded import EmbeddedPostgres
from metastore.transport.listener import Listener
from metastore.transport.options import TransportOptions
from metastore.transport.worker_pool import WorkerPool
from migrations import runner
from tests.architecture.layers import LAYERS
from tests.wire.builders import columns, descriptor, partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database
from thrift_idl.gen.metastore import Metastore
from thrift_idl.gen.metastore.ttypes import UndropRequest

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = f"{ROOT}/metastore/"
DATABASE: Final = "walked"
USER, SECRET = "walker", "secret"
_COMPONENTS: Final = sorted((component for layer in LAYERS["metastore"] for component in layer), key=len, reverse=True)
_SERVING: Final = ("call", "passwords")  # names of the threads that execute calls and check passwords
_EXECUTING: Final = ("execute", "copy_expert")


class Crossing(NamedTuple):
    """A call from a function of one file to a function of another."""

    caller: str
    called: str
    function: str


class Tracer:
    """Counts the calls between the project's files in the threads that serve, while it records."""

    def __init__(self) -> None:
        self.crossings: Counter[Crossing] = Counter()
        self.files: set[str] = set()
        self.statements = 0
        self._recording = False
        self._stacks = threading.local()
        self._names: dict[str, str | None] = {}

    def install(self) -> None:
        """Traces all threads that start from now on."""
        threading.setprofile(self._on_event)

    def record(self, call: Callable[[], Any]) -> None:
        """Makes the call. Resets the counts, and counts the function calls of the serving threads meanwhile."""
        self.crossings.clear()
        self.files.clear()
        self.statements = 0
        self._recording = True
        try:
            call()
        finally:
            self._recording = False

    def between_components(self) -> int:
        """Returns the number of calls between two components."""
        return sum(
            count for each, count in self.crossings.items() if _component(each.caller) != _component(each.called)
        )

    def _on_event(self, frame: FrameType, event: str, argument: Any) -> None:
        if threading.current_thread().name not in _SERVING:
            sys.setprofile(None)
            return
        if event == "c_call":
            if self._recording and getattr(argument, "__name__", "") in _EXECUTING:
                self.statements += isinstance(getattr(argument, "__self__", None), PostgresCursor)
            return
        if event not in ("call", "return"):
            return
        name = self._file(frame.f_code.co_filename)
        if name is None:
            return
        stack = self._stacks.__dict__.setdefault("stack", [])
        if event == "call":
            if self._recording:
                self.files.add(name)
                if stack and stack[-1] != name:
                    self.crossings[Crossing(stack[-1], name, frame.f_code.co_name)] += 1
            stack.append(name)
        elif stack:
            stack.pop()

    def _file(self, path: str) -> str | None:
        """Returns the path of a file below the package; None for other files."""
        if path not in self._names:
            self._names[path] = path.removeprefix(PACKAGE) if path.startswith(PACKAGE) else None
        return self._names[path]


def _component(file: str) -> str:
    module = file.removesuffix(".py").replace("/", ".")
    return next(
        (component for component in _COMPONENTS if module == component or module.startswith(f"{component}.")), module
    )


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
@click.option("--show", default=0, help="Number of crossings to list for each call, the most frequent first.")
def main(calls: Sequence[str], partitions: int, show: int) -> None:
    """Prints a line for each call."""
    tracer = Tracer()
    tracer.install()
    with _running() as server:
        available = Calls(server, partitions)
        click.echo(f"{'':<28}{'files':>8}{'crossings':>12}{'between components':>21}{'statements':>12}")
        for name in calls or CALLS:
            for turn in range(2):
                getattr(available, name)(turn)()
            tracer.record(getattr(available, name)(2))
            crossings = sum(tracer.crossings.values())
            counts = f"{len(tracer.files):>8}{crossings:>12}{tracer.between_components():>21}{tracer.statements:>12}"
            click.echo(f"{name:<28}{counts}")
            for each, count in tracer.crossings.most_common(show):
                click.echo(f"{count:>8}  {each.caller} → {each.called} {each.function}")


if __name__ == "__main__":
    main()
