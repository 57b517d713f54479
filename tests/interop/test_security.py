"""Hive's Java clients of newer versions: TLS, passwords, HTTP with JWTs, Kerberos and rights."""

from __future__ import annotations

import subprocess
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
from tests.interop.java import java_home, major, running_jvm
from tests.interop.maven import UnavailableError, class_path
from tests.interop.test_hive import CLIENTS
from tests.wire.builders import new_table
from tests.wire.security.conftest import Authority, client_of, ticket_of
from tests.wire.security.test_java import realm_tool
from tests.wire.security.test_jwt import AUDIENCE, ISSUER, Issuer


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "pki")


@pytest.fixture
def issuer(tmp_path: Path) -> Issuer:
    actual_issuer = Issuer(tmp_path / "keys.json")
    actual_issuer.add("one")
    return actual_issuer


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
    """Returns Hive's client of a server. `settings`: names with underscores instead of dots."""
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


@pytest.mark.timeout(900)
def test_rights_by_kerberos(
    version: str, tmp_path: Path, realm: Any, environment: pytest.MonkeyPatch, start: Callable[..., Server]
) -> None:
    """GRANT, REVOKE and SHOW GRANT as Hive's clients send them, by users with Kerberos tickets."""
    kerberos = ["--authentication", "kerberos", "--kerberos-keytab", realm.keytab, "--kerberos-protection", "privacy"]
    server = start(*kerberos, "--authorization", "grants", "--admins", "alice")
    with ticket_of(realm, "alice"), client_of(server, kerberos="hive") as alice:
        database, name = new_table(alice.methods)
    options = (
        f"-Djava.security.krb5.conf={realm.env['KRB5_CONFIG']}",
        "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    )
    client = CLIENTS[version]
    try:
        jars, home = class_path(*client.artifacts), java_home(client.least_java, client.most_java)
    except UnavailableError as error:
        pytest.skip(str(error))
    modules = subprocess.run([home / "bin" / "java", "--list-modules"], capture_output=True, text=True, check=True)
    if "jdk.security.jgss" not in modules.stdout:
        pytest.skip(f"the Java {major(home)} here has no Kerberos (PyPI's lacks it)")
    with running_jvm(home, jars, tmp_path, *options) as gateway:
        alice = ticketed(gateway.jvm, server, realm, "alice")
        api = gateway.jvm.org.apache.hadoop.hive.metastore.api
        user = api.PrincipalType.USER
        bag = privilege_bag(api, database, name)
        with pytest.raises(Py4JJavaError, match="NoSuchObjectException"):
            ticketed(gateway.jvm, server, realm, "trino").getTable(database, name)
        assert alice.grant_privileges(bag)
        trino = ticketed(gateway.jvm, server, realm, "trino")
        assert trino.getTable(database, name).getTableName() == name
        with pytest.raises(Py4JJavaError, match=r"user \[trino\] does not have \[DROP\] privilege"):
            trino.dropTable(database, name)
        (actual,) = trino.list_privileges("trino", user, bag.getPrivileges()[0].getHiveObject())
        assert (actual.getGrantInfo().getPrivilege(), actual.getGrantInfo().getGrantor()) == ("SELECT", "alice")
        assert alice.revoke_privileges(bag, False)
        with pytest.raises(Py4JJavaError, match="NoSuchObjectException"):
            trino.getTable(database, name)


def privilege_bag(api: Any, database: str, name: str) -> Any:
    """Grants trino SELECT on a table."""
    reference = api.HiveObjectRef(api.HiveObjectType.TABLE, database, name, None, None)
    grant = api.PrivilegeGrantInfo("SELECT", 0, "", api.PrincipalType.USER, False)
    held = api.HiveObjectPrivilege(reference, "trino", api.PrincipalType.USER, grant, "SQL")
    return api.PrivilegeBag([held])


def ticketed(jvm: Any, server: Server, realm: Any, name: str) -> Any:
    """Returns Hive's client of a user who has logged in with a keytab."""
    keytab = f"{realm.tmpdir}/{name}.keytab"
    realm.run([realm_tool(realm), "-q", f"ktadd -norandkey -k {keytab} {name}@KRBTEST.COM"])
    security = jvm.org.apache.hadoop.security.UserGroupInformation
    configuration = jvm.org.apache.hadoop.hive.metastore.conf.MetastoreConf.newMetastoreConf()
    given = {
        "metastore.thrift.uris": f"thrift://localhost:{server.port}",
        "metastore.sasl.enabled": "true",
        "metastore.kerberos.principal": "hive/_HOST@KRBTEST.COM",
        "metastore.connect.retries": "1",
        "hadoop.security.authentication": "kerberos",
        "hadoop.rpc.protection": "privacy",
    }
    for key, value in given.items():
        configuration.set(key, value)
    security.setConfiguration(configuration)
    security.loginUserFromKeytab(f"{name}@KRBTEST.COM", keytab)
    return jvm.org.apache.hadoop.hive.metastore.HiveMetaStoreClient(configuration)
