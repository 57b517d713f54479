"""A server with TLS, passwords, grants and an audit trail, and its users."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from thrift.protocol.TBase import TExceptionBase
from thrift.Thrift import TException

from metastore.client import Credentials, MetastoreClient, connect
from metastore.client.errors import ClientError
from metastore.security.passwords import PasswordFile
from migrations import runner
from tests.bench.servers import postgres
from tests.fixtures.server import Server, running
from tests.wire.authorization.granting import grant, on_database, on_table
from tests.wire.builders import partition, table
from tests.wire.security.conftest import Authority
from tests.wire.writing import write_file
from thrift_idl.gen.hive_metastore.ttypes import Database, Function

USERS: Final = ("root", "alice", "bob", "carol", "eve")
"""root administers; alice owns `sales`; bob reads `sales.shown`; carol inserts there; eve has no right."""

Promise = Callable[["House"], object]
PROMISES: Final[dict[str, Promise]] = {}


def promise(text: str) -> Callable[[Promise], Promise]:
    """Registers a check of a promise. It raises an exception if the promise does not hold."""

    def register(check: Promise) -> Promise:
        PROMISES[text] = check
        return check

    return register


@dataclass
class House:
    """A running server. Passwords are the users' names."""

    server: Server
    ca: Path
    users: PasswordFile
    _clients: dict[str, MetastoreClient] = field(default_factory=dict)

    def login(self, user: str, password: str) -> MetastoreClient:
        credentials = Credentials(tls=True, ca=str(self.ca), user=user, password=password)
        return connect(f"thrift://localhost:{self.server.port}", timeout=30, credentials=credentials)

    def client(self, user: str) -> MetastoreClient:
        if user not in self._clients:
            self._clients[user] = self.login(user, user)
        return self._clients[user]

    def methods(self, user: str) -> Any:
        return self.client(user).methods

    def location(self, name: str) -> str:
        return str(self.methods("root").get_table("sales", name).sd.location)

    @contextmanager
    def raw(self) -> Iterator[socket.socket]:
        """A connection with TLS, before authentication."""
        context = ssl.create_default_context(cafile=str(self.ca))
        with (
            socket.create_connection(("localhost", self.server.port), 30) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as sock,
        ):
            yield sock

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


def fails(call: Callable[[], object], *texts: str) -> str:
    """Returns the error of a call, in one text. Raises AssertionError if it succeeds, or lacks one of the texts."""
    try:
        answer = call()
    except (TException, TExceptionBase, ClientError, OSError) as error:
        told = f"{type(error).__name__} {error} {getattr(error, 'message', '')}"
        assert all(text in told for text in texts), told
        return told
    raise AssertionError(f"the call succeeded: {answer!r}"[:200])


@contextmanager
def house(folder: Path) -> Iterator[House]:
    """Starts a server with a hidden table `sales.hidden`, and a hidden database `secret`."""
    authority = Authority(folder / "ca")
    pem, users = authority.issue("localhost"), PasswordFile(folder / "users")
    for user in (*USERS, "gone", "guessed"):
        users.add(user, user)
    secured = ["--tls", "required", "--tls-certificate", str(pem.chain), "--tls-key", str(pem.key)]
    secured += ["--authentication", "password", "--password-file", str(folder / "users")]
    rights = ["--authorization", "grants", "--admins", "root", "--audit", "table"]
    limits = ["--max-locks", "50", "--max-open-transactions", "50"]
    with ExitStack() as stack:
        database = stack.enter_context(postgres(folder / "postgres")).create("promises")
        runner.upgrade(database)
        server = stack.enter_context(running(database, folder, *secured, *rights, *limits, "--workers", "2"))
        found = House(server, authority.pem, users)
        stack.callback(found.close)
        _fill(found)
        yield found


def _fill(found: House) -> None:
    root, alice = found.methods("root"), found.methods("alice")
    root.create_database(Database(name="sales", ownerName="alice"))
    root.create_database(Database(name="secret", ownerName="alice"))
    root.create_database(Database(name="mine", ownerName="bob"))
    for home, name in (("sales", "shown"), ("sales", "hidden"), ("secret", "vault")):
        more = {"fs.s3a.secret.key": "sesame"} if name == "shown" else {}
        alice.create_table(table(home, name, [("ds", "string")], parameters=more))
        alice.add_partition(partition(home, name, ["1"]))
        write_file(f"{alice.get_table(home, name).sd.location}/ds=1/part-0")
    alice.create_function(Function("cipher", "secret", "c", "alice", 1, 0, 1, []))
    grant(alice, on_table("sales", "shown"), "SELECT", "bob")
    for right in ("SELECT", "INSERT"):
        grant(alice, on_table("sales", "shown"), right, "carol")
    grant(root, on_database("mine"), "CREATE", "carol")
    found.methods("bob").create_table(table("mine", "t", [("ds", "string")]))
