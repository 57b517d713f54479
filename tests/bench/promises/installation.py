"""Servers on one database with TLS, grants and an audit trail, and their users.

One accepts passwords and has a console; one accepts JWTs, client certificates and Kerberos; one is read-only.
"""

from __future__ import annotations

import os
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
from tests.wire.monitoring.pages import HTTP
from tests.wire.security.conftest import MISSING, Authority, running_realm
from tests.wire.security.test_jwt import AUDIENCE, ISSUER, Issuer
from tests.wire.writing import write_file
from thrift_idl.gen.hive_metastore.ttypes import Database, Function

USERS: Final = ("root", "alice", "bob", "carol", "eve", "sam", "dana")
"""root administers; alice owns `sales`; bob reads `sales.shown`; carol inserts there; eve has no right; sam administers
security; dana administers data."""

Promise = Callable[["Installation"], object]
PROMISES: Final[dict[str, Promise]] = {}


def promise(text: str) -> Callable[[Promise], Promise]:
    """Registers a check of a promise. It raises an exception if the promise does not hold."""

    def register(check: Promise) -> Promise:
        PROMISES[text] = check
        return check

    return register


@dataclass
class Installation:
    """Running servers. Passwords are the users' names.

    Attributes:
        server: accepts passwords. `console`: the address of its HTTP port, `token`: the token of /calls.
        other_methods: accepts JWTs, client certificates and Kerberos tickets.
        reader: accepts passwords, and is read-only.
        realm: the Kerberos realm (k5test).
    """

    server: Server
    other_methods: Server
    reader: Server
    authority: Authority
    strangers: Authority
    issuer: Issuer
    realm: Any
    users: PasswordFile
    console: str
    token: Path
    _clients: dict[str, MetastoreClient] = field(default_factory=dict)

    @property
    def ca(self) -> Path:
        return self.authority.pem

    def login(self, user: str, password: str, server: Server | None = None) -> MetastoreClient:
        return self.enter(server or self.server, user=user, password=password)

    def enter(self, server: Server, **credentials: Any) -> MetastoreClient:
        """Returns a client with TLS and these credentials."""
        shown = Credentials(tls=True, ca=str(self.ca), **credentials)
        return connect(f"thrift://localhost:{server.port}", timeout=30, credentials=shown)

    def client(self, user: str) -> MetastoreClient:
        if user not in self._clients:
            self._clients[user] = self.login(user, user)
        return self._clients[user]

    def methods(self, user: str) -> Any:
        return self.client(user).methods

    def location(self, name: str) -> str:
        return str(self.methods("root").get_table("sales", name).sd.location)

    @contextmanager
    def raw(self, server: Server | None = None) -> Iterator[socket.socket]:
        """A connection with TLS, before authentication."""
        context = ssl.create_default_context(cafile=str(self.ca))
        with (
            socket.create_connection(("localhost", (server or self.server).port), 30) as plain,
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
def installation(folder: Path) -> Iterator[Installation]:
    """Starts a server with a hidden table `sales.hidden`, and a hidden database `secret`."""
    authority, strangers = Authority(folder / "ca"), Authority(folder / "strangers")
    pem, users = authority.issue("localhost"), PasswordFile(folder / "users")
    for user in (*USERS, "gone", "guessed"):
        users.add(user, user)
    issuer = Issuer(folder / "keys.json")
    issuer.add("one")
    tls = ["--tls", "required", "--tls-certificate", str(pem.chain), "--tls-key", str(pem.key)]
    passwords = ["--authentication", "password", "--password-file", str(folder / "users")]
    rights = ["--authorization", "grants", "--admins", "root", "--security-admins", "sam", "--data-admins", "dana"]
    common = [*tls, *rights, "--max-locks", "50", "--max-open-transactions", "50"]
    with ExitStack() as stack:
        realm = stack.enter_context(_joined_realm())
        database = stack.enter_context(postgres(folder / "postgres")).create("promises")
        runner.upgrade(database)

        def start(name: str, *options: str) -> Server:
            own = folder / name
            own.mkdir()
            warehouse = ["--warehouse", str(folder / "warehouse")]
            return stack.enter_context(running(database, own, *common, *options, *warehouse))

        token = folder / "http.token"
        pages = ["--http-port", "0", "--http-token-file", str(token), "--slow-call-threshold", "0.001"]
        # Only this server audits: of several, any one writes the lines to its log.
        server = start("passwords", *passwords, *pages, "--workers", "2", "--audit", "table")
        other_methods = start("other_methods", *_other_methods(authority, issuer, realm))
        reader = start("reader", *passwords, "--read-only", "true")
        address = HTTP.search(server.ready)
        assert address, server.ready
        actual = Installation(
            server, other_methods, reader, authority, strangers, issuer, realm, users, address[1], token
        )
        stack.callback(actual.close)
        _fill(actual)
        yield actual


@contextmanager
def _joined_realm() -> Iterator[Any]:
    """Starts a KDC, and joins this process and the servers that it starts. Raises RuntimeError without its programs."""
    if MISSING:
        raise RuntimeError(f"Install Debian's krb5-kdc, krb5-admin-server and krb5-user: no {', '.join(MISSING)}")
    with running_realm() as realm:
        os.environ.update({name: value for name, value in realm.env.items() if name.startswith("KRB5")})
        yield realm


def _other_methods(authority: Authority, issuer: Issuer, realm: Any) -> list[str]:
    jwt = ["--jwt-keys", str(issuer.path), "--jwt-issuer", ISSUER, "--jwt-audience", AUDIENCE]
    certificates = ["--tls-client-ca", str(authority.pem), "--tls-client-certificates", "optional"]
    methods = ["--authentication", "jwt,tls-certificate,kerberos", "--kerberos-keytab", realm.keytab]
    return [*methods, *jwt, *certificates]


def _fill(actual: Installation) -> None:
    root, alice = actual.methods("root"), actual.methods("alice")
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
    actual.methods("bob").create_table(table("mine", "t", [("ds", "string")]))
