"""Hive's Java clients of newer versions: TLS, passwords, HTTP with JWTs. Kerberos is tried with the client in Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore
from py4j.protocol import Py4JJavaError

from metastore.security.passwords import PasswordFile
from tests.fixtures.server import Server
from tests.interop.java import java_home, running_jvm
from tests.interop.maven import UnavailableError, class_path
from tests.interop.test_hive import CLIENTS
from tests.wire.security.conftest import Authority
from tests.wire.security.test_jwt import AUDIENCE, ISSUER, Issuer


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "pki")


@pytest.fixture
def issuer(tmp_path: Path) -> Issuer:
    found = Issuer(tmp_path / "keys.json")
    found.add("one")
    return found


@pytest.fixture(params=CLIENTS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def jvm(version: str, tmp_path: Path, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    client = CLIENTS[version]
    try:
        jars, home = class_path(*client.artifacts), java_home(client.least_java, client.most_java)
    except UnavailableError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("HMS_JWT", issuer.token("carol"))
    with running_jvm(home, jars, tmp_path) as gateway:
        yield gateway.jvm


@pytest.mark.timeout(900)
def test_hive_client(
    version: str,
    jvm: Any,
    tmp_path: Path,
    authority: Authority,
    issuer: Issuer,
    database_url: str,
    start_metastore: Callable[..., Server],
) -> None:
    pem = authority.issue("localhost", "127.0.0.1")
    users = tmp_path / "users"
    PasswordFile(users).add("alice", "wonderland")
    files = ["--tls-certificate", str(pem.chain), "--tls-key", str(pem.key)]
    open_door = start_metastore(database_url, "--tls", "required", *files)
    passwords = start_metastore(
        database_url, "--tls", "required", *files, "--authentication", "password", "--password-file", str(users)
    )
    keys = ["--jwt-keys", str(issuer.path), "--jwt-issuer", ISSUER, "--jwt-audience", AUDIENCE]
    tokens = start_metastore(database_url, "--tls", "required", *files, "--authentication", "jwt", *keys)
    trust = tmp_path / "trust.p12"
    certificate = x509.load_pem_x509_certificate(authority.pem.read_bytes())
    trust.write_bytes(
        serialize_java_truststore([PKCS12Certificate(certificate, b"ours")], BestAvailableEncryption(b"changeit"))
    )

    connect = partial(connected, jvm, trust=trust)
    client = connect(open_door)
    assert "default" in client.getAllDatabases()
    client.close()
    if version.startswith("3"):
        return
    plain = {"metastore_client_auth_mode": "PLAIN", "metastore_client_plain_username": "alice"}
    client = connect(passwords, **plain, alice="wonderland")
    assert "default" in client.getAllDatabases()
    client.close()
    with pytest.raises(Py4JJavaError, match="the user is unknown or the password is wrong"):
        connect(passwords, **plain, alice="guess")
    http = {"metastore_client_thrift_transport_mode": "http", "metastore_client_auth_mode": "JWT"}
    client = connect(tokens, **http)
    assert "default" in client.getAllDatabases()
    client.close()
    assert "carol" in tokens.log.read_text()


def connected(jvm: Any, server: Server, trust: Path, **settings: str) -> Any:
    """Hive's client of a server. `settings`: by names with underscores in place of dots."""
    configuration = jvm.org.apache.hadoop.hive.metastore.conf.MetastoreConf.newMetastoreConf()
    given = {
        "metastore.thrift.uris": f"thrift://localhost:{server.port}",
        "metastore.use.SSL": "true",
        "metastore.truststore.path": str(trust),
        "metastore.truststore.password": "changeit",
        "metastore.truststore.type": "PKCS12",
        "metastore.trustmanagerfactory.algorithm": "PKIX",  # HTTP has no default for it
        "metastore.connect.retries": "1",
        **{name.replace("_", "."): value for name, value in settings.items()},
    }
    for name, value in given.items():
        configuration.set(name, value)
    return jvm.org.apache.hadoop.hive.metastore.HiveMetaStoreClient(configuration)
