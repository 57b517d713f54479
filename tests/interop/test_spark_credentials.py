"""JWTs, delegation tokens and passwords over TLS, through `metastore spark serve` to a metastore that requires TLS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore

from metastore.client import Credentials, MetastoreClient, connect
from metastore.security.passwords import PasswordFile
from tests.fixtures.server import Server
from tests.interop.spark_gateway import CURRENT, Gateway, password_of, serving
from tests.wire.security.conftest import Authority, Pem, ticket_of
from tests.wire.security.test_jwt import AUDIENCE, ISSUER, Issuer
from thrift_idl.gen.hive_metastore.ttypes import Database, PrincipalType

# Two users with a method each, and one who is also in the realm. Each has a driver.
CAROL, DAVE, ALICE = "carol", "dave", "alice"


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> PasswordFile:
    file = PasswordFile(tmp_path_factory.mktemp("users") / "users")
    for name in ("admin", DAVE):
        file.add(name, password_of(name))
    return file


@pytest.fixture(scope="module")
def metastore(
    start: Callable[..., Server],
    users: PasswordFile,
    issuer: Issuer,
    realm: Any,
    environment: Any,
    tls_options: list[str],
    authority: Authority,
) -> Server:
    options = ["--authentication", "kerberos,token,password,jwt", "--tls", "required", *tls_options]
    options += ["--password-file", str(users._path), "--kerberos-keytab", realm.keytab]
    options += ["--jwt-keys", str(issuer.path), "--jwt-issuer", ISSUER, "--jwt-audience", AUDIENCE]
    server = start(*options, "--authorization", "grants", "--admins", "admin")
    with direct(server, authority, user="admin", password=password_of("admin")) as client:
        for name in (CAROL, DAVE, ALICE):
            client.methods.create_database(Database(name=name, ownerName=name, ownerType=PrincipalType.USER))
    return server


def direct(server: Server, authority: Authority, **credentials: Any) -> MetastoreClient:
    given = Credentials(tls=True, ca=str(authority.pem), **credentials)
    return connect(f"thrift://localhost:{server.port}", credentials=given)


@pytest.fixture(scope="module")
def gateway(
    metastore: Server, host_pem: Pem, authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("gateway")
    trust = folder / "trust.p12"
    certificate = x509.load_pem_x509_certificate(authority.pem.read_bytes())
    trust.write_bytes(
        serialize_java_truststore([PKCS12Certificate(certificate, b"ours")], BestAvailableEncryption(b"changeit"))
    )
    options = ["--tls-certificate", str(host_pem.chain), "--tls-key", str(host_pem.key)]
    options += ["--idle-timeout", "120"]
    variables = {"METASTORE_CLIENT_TLS": "true", "METASTORE_CLIENT_CA": str(authority.pem)}
    with serving(CURRENT, metastore, folder, options=options, variables=variables) as actual:
        actual.ca, actual.trust = authority.pem, trust
        yield actual


@pytest.fixture(scope="module")
def token(metastore: Server, realm: Any, authority: Authority) -> str:
    """A delegation token of alice."""
    with ticket_of(realm, ALICE), direct(metastore, authority, kerberos="hive") as client:
        return str(client.methods.get_delegation_token(ALICE, ALICE))


@pytest.mark.timeout(900)
def test_a_jwt_over_tls(gateway: Gateway, issuer: Issuer) -> None:
    create = "CREATE TABLE carol.t USING parquet AS SELECT 1 AS id"
    answers = gateway.ask(CAROL, create, "SELECT current_user(), id FROM carol.t", token=issuer.token(CAROL))
    assert answers[1] == [[CAROL, 1]], answers
    assert "> carol\n" in gateway.beeline("anyone", issuer.token(CAROL), "SELECT current_user()")


@pytest.mark.timeout(900)
def test_a_password_over_tls(gateway: Gateway) -> None:
    answers = gateway.ask(DAVE, "SELECT current_user()", "SHOW DATABASES", "SELECT * FROM carol.t")
    assert answers[:2] == [[[DAVE]], [[DAVE], ["default"]]]
    assert "TABLE_OR_VIEW_NOT_FOUND" in answers[2]
    assert "> dave\n" in gateway.beeline(DAVE, password_of(DAVE), "SELECT current_user()")


@pytest.mark.timeout(900)
def test_a_delegation_token_over_tls(gateway: Gateway, token: str) -> None:
    answers = gateway.ask(ALICE, "CREATE TABLE alice.t (id INT)", "SELECT current_user()", token=token)
    assert answers[1] == [[ALICE]], answers
    assert "> alice\n" in gateway.beeline(ALICE, token, "SELECT current_user()")


@pytest.mark.timeout(900)
def test_other_credentials_are_rejected(gateway: Gateway, issuer: Issuer, token: str) -> None:
    # First, because each wrong credential delays the next login of the user.
    assert "it has expired" in gateway.beeline(CAROL, issuer.token(CAROL, exp=1_000_000_000), "SELECT 1")
    for wrong in (
        issuer.token(CAROL, aud="another"),
        issuer.token(CAROL, exp=1_000_000_000),
        issuer.token(CAROL)[:-4] + "AAAA",
        token[:-6] + "AAAAAA",
        "no token",
    ):
        (answer,) = gateway.ask(CAROL, "SELECT 1", token=wrong)
        assert answer.startswith("UNAUTHENTICATED"), answer


@pytest.mark.timeout(900)
def test_clients_without_tls_get_nothing(gateway: Gateway, issuer: Issuer) -> None:
    said = gateway.beeline(DAVE, password_of(DAVE), "SELECT concat('result ', 1)", options="")
    assert "result 1" not in said.replace("concat('result ', 1)", "")
    gateway.ca, ca = None, gateway.ca
    (answer,) = gateway.ask(CAROL, "SELECT 1", token=issuer.token(CAROL))
    gateway.ca = ca
    assert isinstance(answer, str), answer


@pytest.mark.timeout(900)
def test_everyone_is_the_own_user_at_the_metastore(gateway: Gateway) -> None:
    log = gateway.metastore.log.read_text()
    assert " carol create_table" in log
    assert " alice create_table" in log


@pytest.mark.timeout(900)
def test_a_revoked_token_ends_the_driver(
    gateway: Gateway, token: str, metastore: Server, realm: Any, authority: Authority
) -> None:
    assert gateway.ask(ALICE, "SELECT 1", token=token) == [[[1]]]
    java = driver(gateway, ALICE)
    with ticket_of(realm, ALICE), direct(metastore, authority, kerberos="hive") as client:
        client.methods.cancel_delegation_token(token)
    psutil.wait_procs([java], timeout=240)
    assert not java.is_running()
    assert gateway.ask(ALICE, "SELECT 1", token=token)[0].startswith("UNAUTHENTICATED")


@pytest.mark.timeout(900)
def test_an_idle_driver_stops(gateway: Gateway, issuer: Issuer) -> None:
    """`--idle-timeout 120`. Its next call starts another one, which finds the tables."""
    assert gateway.ask(CAROL, "SELECT 1", token=issuer.token(CAROL)) == [[[1]]]
    java = driver(gateway, CAROL)
    psutil.wait_procs([java], timeout=240)
    assert not java.is_running()
    assert gateway.ask(CAROL, "SELECT id FROM carol.t", token=issuer.token(CAROL)) == [[[1]]]


def driver(gateway: Gateway, user: str) -> psutil.Process:
    (java,) = (
        process
        for process in psutil.Process(gateway.process.pid).children(recursive=True)
        if process.name() == "java" and process.environ().get("SPARK_USER") == user
    )
    return java
