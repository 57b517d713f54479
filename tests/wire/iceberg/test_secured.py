"""PyIceberg by REST against a server with TLS and grants: users with a password, a JWT and a client certificate."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import ForbiddenError, NoSuchNamespaceError, NoSuchTableError, UnauthorizedError

from metastore.client import Credentials, connect
from metastore.client.errors import AuthenticationError
from metastore.client.events import EventStream
from tests.fixtures.server import Server
from tests.wire.authorization.granting import bag, on_table
from tests.wire.console.conftest import ADMIN, LOW, PASSWORDS
from tests.wire.console.visiting import Visitor
from tests.wire.iceberg.conftest import SCHEMA, V1, rows
from tests.wire.monitoring.pages import HTTP
from tests.wire.security.conftest import Authority, Pem
from tests.wire.security.conftest import authority as authority
from tests.wire.security.conftest import host_pem as host_pem
from tests.wire.security.conftest import start as start
from tests.wire.security.conftest import strange_authority as strange_authority
from tests.wire.security.conftest import tls_options as tls_options
from tests.wire.security.test_jwt import AUDIENCE, ISSUER, Issuer
from tests.wire.security.test_jwt import issuer as issuer
from tests.wire.transport.conftest import eventually


@dataclass(frozen=True)
class Secured:
    """A server with TLS, its HTTPS address, and the file of its authority."""

    server: Server
    url: str
    authority: Authority

    def catalog(self, **properties: Any) -> RestCatalog:
        return RestCatalog("rest", uri=f"{self.url}/iceberg", ssl={"cabundle": str(self.authority.pem)}, **properties)

    def by_password(self, user: str) -> RestCatalog:
        return self.catalog(auth={"type": "basic", "basic": {"username": user, "password": PASSWORDS[user]}})

    def by_certificate(self, pem: Pem) -> RestCatalog:
        files = {"cert": str(pem.chain), "key": str(pem.key)}
        tls = {"cabundle": str(self.authority.pem), "client": files}
        return RestCatalog("rest", uri=f"{self.url}/iceberg", auth={"type": "noop"}, ssl=tls)

    def visitor(self, pem: Pem | None = None) -> Visitor:
        context = ssl.create_default_context(cafile=str(self.authority.pem))
        if pem:
            context.load_cert_chain(pem.chain, pem.key)
        return Visitor(self.url, context)


@pytest.fixture(scope="module", autouse=True)
def own_authority() -> Iterator[None]:
    """The variables of the environment would count more than PyIceberg's property."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="module")
def secured(
    start: Callable[..., Server],
    tls_options: list[str],
    issuer: Issuer,
    password_file: Path,
    authority: Authority,
) -> Secured:
    server = start(
        *("--http-port", "0", "--http-tls", "required", "--tls", "allowed", *tls_options),
        *("--tls-client-certificates", "optional", "--authentication", "password,jwt,tls-certificate"),
        *("--password-file", str(password_file), "--authorization", "grants", "--admins", ADMIN),
        *("--jwt-keys", str(issuer.path), "--jwt-issuer", ISSUER, "--jwt-audience", AUDIENCE),
    )
    match = HTTP.search(server.ready)
    assert match
    catalog = Secured(server, match[1], authority)
    admin = catalog.by_password(ADMIN)
    admin.create_namespace("secured")
    for name in ("hidden", "shared"):
        admin.create_table(("secured", name), SCHEMA).append(rows(1))
    root = Credentials(tls=True, ca=str(authority.pem), user=ADMIN, password=PASSWORDS[ADMIN])
    with connect(f"thrift://localhost:{server.port}", credentials=root) as client:
        for user in (LOW, "carol", "alice"):
            client.methods.grant_privileges(bag(on_table("secured", "shared"), "SELECT", user))
        client.methods.grant_privileges(bag(on_table("secured", "shared"), "ALTER", LOW))
    return catalog


@pytest.fixture(params=["password", "jwt", "certificate"])
def user(request: pytest.FixtureRequest, secured: Secured, issuer: Issuer, authority: Authority) -> RestCatalog:
    if request.param == "password":
        return secured.by_password(LOW)
    if request.param == "jwt":
        return secured.catalog(token=issuer.token("alice"))
    return secured.by_certificate(authority.issue(user="carol"))


def test_hidden_tables_look_like_missing_ones(user: RestCatalog) -> None:
    assert user.list_tables("secured") == [("secured", "shared")]
    assert user.load_table("secured.shared").scan().to_arrow()["id"].to_pylist() == [1]
    with pytest.raises(NoSuchTableError) as hidden:
        user.load_table("secured.hidden")
    with pytest.raises(NoSuchTableError) as missing:
        user.load_table("secured.nothing")
    assert str(hidden.value).replace("hidden", "nothing") == str(missing.value)
    assert not user.table_exists("secured.hidden")
    with pytest.raises(NoSuchTableError):
        user.drop_table("secured.hidden")
    with pytest.raises(NoSuchNamespaceError):
        user.create_table("nowhere.t", SCHEMA)
    with pytest.raises(ForbiddenError):
        user.create_namespace("own")


def test_a_commit_needs_the_right(secured: Secured, authority: Authority) -> None:
    with pytest.raises(ForbiddenError):
        secured.by_certificate(authority.issue(user="carol")).load_table("secured.shared").append(rows(2))
    table = secured.by_password(LOW).load_table("secured.shared")
    with table.transaction() as transaction:
        transaction.set_properties(by="low")
    assert secured.by_password(ADMIN).load_table("secured.shared").properties["by"] == "low"


def test_wrong_credentials(
    secured: Secured, issuer: Issuer, authority: Authority, strange_authority: Authority
) -> None:
    with pytest.raises(UnauthorizedError):
        secured.catalog(token=issuer.token("alice", aud="another"))
    with pytest.raises(UnauthorizedError):
        secured.catalog()
    pem = authority.issue(user="carol")
    assert secured.visitor(pem).get(f"{V1}/namespaces").status == 200
    assert secured.visitor(pem).get(f"{V1}/namespaces", Authorization="Bearer x").status == 401  # the header counts
    nobody = secured.visitor(authority.issue("host.example")).get(f"{V1}/namespaces")  # its subject names no user
    assert (nobody.status, nobody.data["error"]["type"]) == (401, "NotAuthorizedException")
    with pytest.raises(OSError, match=r"(?i)unknown ca|closed|reset|eof"):
        secured.visitor(strange_authority.issue(user="root")).get(f"{V1}/namespaces")
    assert secured.visitor().get("/metrics").status == 200  # Prometheus needs no certificate


def test_the_stream_of_events_accepts_a_certificate(secured: Secured, authority: Authority) -> None:
    pem, ca = authority.issue(user="carol"), str(authority.pem)
    known = Credentials(tls=True, ca=ca, certificate=str(pem.chain), key=str(pem.key))
    assert next(iter(EventStream(secured.url, credentials=known)))
    with pytest.raises(AuthenticationError, match="or a client certificate"):
        next(iter(EventStream(secured.url, credentials=Credentials(tls=True, ca=ca))))


def test_a_login_counts_more_than_a_certificate(secured: Secured, authority: Authority) -> None:
    """Browsers send the certificate of a user with all requests, also one that names no user here."""
    for pem, status in ((authority.issue(user="carol"), 200), (authority.issue("host.example"), 401)):
        browser = secured.visitor(pem)
        assert browser.get("/", Accept="application/json").status == status
        assert browser.log_in(LOW, PASSWORDS[LOW]).status == 303
        assert browser.get("/", Accept="application/json").status == 200
        assert f">{LOW}<" in browser.get("/", Accept="text/html").text
        assert browser.post("/logout", {}).status == 303
        assert browser.get("/", Accept="application/json").status == status


def test_a_revoked_certificate(secured: Secured, authority: Authority) -> None:
    pem, text = authority.issue(user="carol"), authority.pem.read_text()
    assert secured.visitor(pem).get(f"{V1}/namespaces").status == 200
    authority.pem.write_text(text + authority.revoke(pem))
    try:
        assert eventually(lambda: _is_rejected(secured, pem))  # the server looks at its files once a second
    finally:
        authority.pem.write_text(text)


def _is_rejected(secured: Secured, pem: Pem) -> bool:
    try:
        assert secured.visitor(pem).get(f"{V1}/namespaces").status == 200
    except OSError:
        return True
    return False
