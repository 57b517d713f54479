"""Hive's Java client 2.3.10, as in Spark: TLS, Kerberos with each protection, delegation tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore
from py4j import java_gateway
from py4j.protocol import Py4JJavaError, get_return_value

from tests.clients.java import Hive, running_jvm
from tests.fixtures.server import Server

from .conftest import Authority

pytestmark = pytest.mark.slow

CLASSES = "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED"


def truststore(authority: Authority, path: Path) -> str:
    certificate = x509.load_pem_x509_certificate(authority.pem.read_bytes())
    path.write_bytes(
        serialize_java_truststore([PKCS12Certificate(certificate, b"ours")], BestAvailableEncryption(b"changeit"))
    )
    return str(path)


@pytest.fixture(scope="module")
def hive(realm: Any, environment: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hive]:
    """Java's classes in a JVM that belongs to the realm, as alice."""
    environment.setenv("JAVA_TOOL_OPTIONS", f"-Djava.security.krb5.conf={realm.env['KRB5_CONFIG']} {CLASSES}")
    realm.run([realm_tool(realm), "-q", f"ktadd -norandkey -k {realm.tmpdir}/alice.keytab alice@KRBTEST.COM"])
    # an earlier session of PySpark would look for Java's exceptions in its own JVM
    environment.setattr(java_gateway, "get_return_value", get_return_value)
    with running_jvm(tmp_path_factory.mktemp("java")) as jvm:
        yield Hive(jvm, "")


def realm_tool(realm: Any) -> str:
    return str(getattr(realm, "kadmin_local", "kadmin.local"))


@pytest.fixture(scope="module")
def server(start: Callable[..., Server], realm: Any, environment: Any, tls_options: list[str]) -> Server:
    options = ["--authentication", "kerberos,token", "--kerberos-keytab", realm.keytab, "--tls", "allowed"]
    return start(*options, *tls_options)


def connect(hive: Hive, server: Server, **settings: str) -> Any:
    return hive.connect(hive_metastore_uris=f"thrift://localhost:{server.port}", **settings)


def kerberos(hive: Hive, realm: Any, protection: str = "authentication") -> dict[str, str]:
    security = hive.jvm.org.apache.hadoop.security.UserGroupInformation
    configuration = hive.jvm.org.apache.hadoop.conf.Configuration()
    configuration.set("hadoop.security.authentication", "kerberos")
    security.setConfiguration(configuration)
    security.loginUserFromKeytab("alice@KRBTEST.COM", f"{realm.tmpdir}/alice.keytab")
    return {
        "hadoop_security_authentication": "kerberos",
        "hive_metastore_sasl_enabled": "true",
        "hive_metastore_kerberos_principal": "hive/_HOST@KRBTEST.COM",
        "hadoop_rpc_protection": protection,
    }


def test_tls(
    hive: Hive,
    start: Callable[..., Server],
    tls_options: list[str],
    authority: Authority,
    strange_authority: Authority,
    tmp_path: Path,
) -> None:
    server = start("--tls", "required", *tls_options)
    tls = {"hive_metastore_use_SSL": "true", "hive_metastore_truststore_password": "changeit"}
    client = connect(hive, server, **tls, hive_metastore_truststore_path=truststore(authority, tmp_path / "trust.p12"))
    assert "default" in client.getAllDatabases()
    client.close()
    strange = truststore(strange_authority, tmp_path / "strange.p12")
    client = connect(hive, server, **tls, hive_metastore_truststore_path=strange)  # it only logs the error of set_ugi
    with pytest.raises(Py4JJavaError, match=r"(PKIX path building failed|Broken pipe|closed)"):
        client.getAllDatabases()
    client.close()
    plain = connect(hive, server)
    with pytest.raises(Py4JJavaError, match=r"This metastore requires TLS .*hive\.metastore\.use\.SSL=true"):
        plain.getAllDatabases()
    plain.close()


@pytest.mark.parametrize("protection", ["authentication", "integrity", "privacy"])
def test_kerberos_and_tokens(hive: Hive, server: Server, realm: Any, protection: str) -> None:
    settings = kerberos(hive, realm, protection)
    client = connect(hive, server, **settings)
    assert "default" in client.getAllDatabases()
    text = client.getDelegationToken("alice", "alice")
    assert client.renewDelegationToken(text) > 0
    client.close()
    if protection == "privacy":
        return  # tokens have no protection: Java insists on it and fails
    token = hive.jvm.org.apache.hadoop.security.token.Token()
    token.decodeFromUrlString(text)
    assert token.getKind().toString() == "HIVE_DELEGATION_TOKEN"
    token.setService(hive.jvm.org.apache.hadoop.io.Text(f"ours {protection}"))
    hive.jvm.org.apache.hadoop.security.UserGroupInformation.getCurrentUser().addToken(token)
    by_token = {**settings, "hadoop_rpc_protection": "authentication"}
    client = connect(hive, server, **by_token, hive_metastore_token_signature=f"ours {protection}")
    assert "default" in client.getAllDatabases()
    with pytest.raises(Py4JJavaError, match="Current AuthenticationMethod: TOKEN"):
        client.getDelegationToken("alice", "alice")
    client.close()


def test_missing_common_protection_is_reported(
    hive: Hive, start: Callable[..., Server], realm: Any, environment: Any
) -> None:
    options = ["--authentication", "kerberos", "--kerberos-keytab", realm.keytab, "--kerberos-protection", "privacy"]
    server = start(*options)
    with pytest.raises(Py4JJavaError, match="No common protection layer between client and server"):
        connect(hive, server, **kerberos(hive, realm, "authentication"))


def test_sasl_without_authentication_is_reported(hive: Hive, start: Callable[..., Server], realm: Any) -> None:
    with pytest.raises(Py4JJavaError, match="requires no authentication"):
        connect(hive, start(), **kerberos(hive, realm))


def test_missing_sasl_is_reported(hive: Hive, server: Server) -> None:
    client = connect(hive, server)
    with pytest.raises(Py4JJavaError, match=r"METASTORE_AUTHENTICATION=kerberos,token\): use Kerberos"):
        client.getAllDatabases()
    client.close()
