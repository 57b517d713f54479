"""Certificates, servers with authentication, and clients with credentials."""

from __future__ import annotations

import contextlib
import datetime
import random
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from metastore.client import Credentials, MetastoreClient, connect
from tests.fixtures.server import Server, running

PATIENCE = 15.0  # time limit in seconds for anything that should happen at once


@dataclass(frozen=True)
class Pem:
    """A certificate and its key as files."""

    chain: Path
    key: Path


class Authority:
    """A certificate authority."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._ca = trustme.CA()
        self.pem = folder / "ca.pem"
        self._ca.cert_pem.write_to_path(str(self.pem))

    def revoke(self, *certificates: Pem) -> str:
        """Returns a revocation list in PEM."""
        now = datetime.datetime.now(datetime.UTC)
        issuer = x509.load_pem_x509_certificate(self._ca.cert_pem.bytes())
        key: Any = serialization.load_pem_private_key(self._ca.private_key_pem.bytes(), None)
        made = x509.CertificateRevocationListBuilder().issuer_name(issuer.subject)
        made = made.last_update(now).next_update(now + datetime.timedelta(days=1))
        for pem in certificates:
            number = x509.load_pem_x509_certificate(pem.chain.read_bytes()).serial_number
            entry = x509.RevokedCertificateBuilder().serial_number(number).revocation_date(now).build()
            made = made.add_revoked_certificate(entry)
        return made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()

    def issue(self, *names: str, user: str | None = None, expired: bool = False) -> Pem:
        """Signs a certificate for hosts, or for a user."""
        past = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
        more = {"not_before": past - datetime.timedelta(days=1), "not_after": past} if expired else {}
        issued = self._ca.issue_cert(*names, common_name=user, organization_name="Example", **more)
        name = f"{user or names[0]}{'-expired' if expired else ''}-{id(issued)}"
        pem = Pem(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        pem.chain.write_bytes(b"".join(cert_chain_pem.bytes() for cert_chain_pem in issued.cert_chain_pems))
        issued.private_key_pem.write_to_path(str(pem.key))
        return pem


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki") / "ours")


@pytest.fixture(scope="session")
def strange_authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki") / "strange")


@pytest.fixture(scope="session")
def host_pem(authority: Authority) -> Pem:
    return authority.issue("localhost", "127.0.0.1")


@pytest.fixture(scope="session")
def tls_options(host_pem: Pem, authority: Authority) -> list[str]:
    """Returns the options of a server with a certificate, and perhaps of client certificates."""
    files = ["--tls-certificate", str(host_pem.chain), "--tls-key", str(host_pem.key)]
    return [*files, "--tls-client-ca", str(authority.pem)]


@pytest.fixture(scope="module")
def start(
    make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Server]]:
    """Starts servers of a module, all on one database."""
    database = make_database()
    with ExitStack() as servers:
        yield lambda *options: servers.enter_context(running(database, tmp_path_factory.mktemp("secure"), *options))


def client_of(
    server: Server, *, user: str | None = None, host: str = "localhost", **credentials: Any
) -> MetastoreClient:
    """Returns a client of this project with these credentials."""
    uri = f"thrift://{host}:{server.port}"
    return connect(uri, timeout=PATIENCE, user=user, credentials=Credentials(**credentials))


@contextmanager
def raw(server: Server, port: int | None = None) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port or server.port), PATIENCE) as sock:
        yield sock


def who(client: MetastoreClient) -> str:
    """Returns the user that the server sees: the owner of a new database."""
    return str(client.methods.set_ugi("nobody", ["nothing"])[-1])


MISSING = [name for name in ("krb5kdc", "kadmin.local", "kinit") if not shutil.which(name, path="/usr/sbin:/usr/bin")]


def free_ports() -> int:
    """Returns the first of ten free ports. KDCs of parallel tests must not share ports."""
    for base in random.sample(range(61000, 65500, 10), 450):  # above the ephemeral ports of Linux
        with contextlib.suppress(OSError), ExitStack() as ports:
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                for port in range(base, base + 10):
                    ports.enter_context(socket.socket(type=kind)).bind(("", port))
            return base
    raise OSError("no ten free ports for a KDC")


@contextmanager
def running_realm() -> Iterator[Any]:
    """Starts a KDC on free ports, with the server's key in a keytab. Skips the test if a program is missing."""
    if MISSING:
        pytest.skip(f"no {', '.join(MISSING)}: Debian's krb5-kdc, krb5-admin-server and krb5-user have them")
    pytest.importorskip("gssapi", reason="gssapi is not installed: pip install '.[kerberos]' needs libkrb5-dev")
    k5test = pytest.importorskip("k5test", reason="k5test is not installed: pip install k5test needs libkrb5-dev")
    k5_realm = k5test.K5Realm(portbase=free_ports(), create_host=False, get_creds=False)
    try:
        k5_realm.addprinc("hive/localhost@KRBTEST.COM", "service")
        k5_realm.extract_keytab("hive/localhost@KRBTEST.COM", k5_realm.keytab)
        for name in ("alice", "trino"):
            k5_realm.addprinc(f"{name}@KRBTEST.COM", name)
        yield k5_realm
    finally:
        k5_realm.stop()
        del k5_realm


@pytest.fixture(scope="module")
def realm() -> Iterator[Any]:
    """A KDC for a module."""
    with running_realm() as actual:
        yield actual


@pytest.fixture(scope="module")
def environment(realm: Any) -> Iterator[pytest.MonkeyPatch]:
    """Joins this process, and servers that it starts, to the realm."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in realm.env.items():
            if name.startswith("KRB5"):
                patch.setenv(name, value)
        yield patch


@contextmanager
def ticket_of(realm: Any, name: str) -> Iterator[None]:
    realm.kinit(f"{name}@KRBTEST.COM", name)
    try:
        yield
    finally:
        realm.run(["kdestroy"])
