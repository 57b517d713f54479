"""Trino: TLS, Kerberos inside it, delegation tokens of the users that it acts for, and their rights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from metastore.client import MetastoreClient
from tests.fixtures.server import Server
from tests.interop.maven import UnavailableError
from tests.interop.trino import Trino, TrinoError, running_trino
from tests.wire.authorization.granting import grant, on_database
from tests.wire.security.conftest import Authority, client_of, ticket_of
from thrift_idl.gen.hive_metastore.ttypes import Database


@pytest.fixture(scope="module")
def servers(start: Callable[..., Server], realm: Any, environment: Any, tls_options: list[str]) -> dict[str, Server]:
    """Servers that require TLS, that require tickets, and that check rights of the users for whom trino acts."""
    tls = ["--tls", "required", *tls_options]
    kerberos = ["--authentication", "kerberos,token", "--kerberos-keytab", realm.keytab]
    proxies = ["--proxy-users", "trino?users=alice,bob", "--authorization", "grants", "--admins", "trino"]
    return {
        "tls": start(*tls),
        "kerberos": start(*tls, *kerberos),
        "tickets": start(*kerberos),
        "rights": start(*tls, *kerberos, *proxies),
    }


@pytest.fixture(scope="module")
def trino(
    servers: dict[str, Server], realm: Any, authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Trino]:
    keytab = f"{realm.tmpdir}/trino.keytab"
    realm.run(
        [str(getattr(realm, "kadmin_local", "kadmin.local")), "-q", f"ktadd -norandkey -k {keytab} trino@KRBTEST.COM"]
    )
    tls = {
        "hive.metastore.thrift.client.ssl.enabled": "true",
        "hive.metastore.thrift.client.ssl.trust-certificate": str(authority.pem),
    }
    kerberos = {
        "hive.metastore.authentication.type": "KERBEROS",
        "hive.metastore.service.principal": "hive/_HOST@KRBTEST.COM",
        "hive.metastore.client.principal": "trino@KRBTEST.COM",
        "hive.metastore.client.keytab": keytab,
    }
    own = {
        "tls": tls,
        "kerberos": tls | kerberos,
        "tickets": kerberos,
        "rights": tls | kerberos | {"hive.metastore.thrift.impersonation.enabled": "true"},
    }
    common = {"connector.name": "hive", "fs.hadoop.enabled": "true"}
    catalogs = {
        name: common | {"hive.metastore.uri": f"thrift://localhost:{servers[name].port}"} | settings
        for name, settings in own.items()
    }
    try:
        with running_trino(
            tmp_path_factory.mktemp("trino"), catalogs, f"-Djava.security.krb5.conf={realm.env['KRB5_CONFIG']}"
        ) as actual:
            yield actual
    except UnavailableError as error:
        pytest.skip(str(error))


@contextmanager
def admin_of(server: Server, realm: Any, authority: Authority) -> Iterator[MetastoreClient]:
    with (
        ticket_of(realm, "trino"),
        client_of(server, kerberos="hive", tls=True, ca=str(authority.pem)) as actual,
    ):
        yield actual


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("catalog", ["tls", "kerberos", "tickets"])
def test_tables_are_made_and_read(trino: Trino, servers: dict[str, Server], catalog: str) -> None:
    schema = f"{catalog}.by_{catalog}"
    trino.query(f"CREATE SCHEMA {schema}")
    trino.query(f"CREATE TABLE {schema}.t (a integer, ds varchar) WITH (partitioned_by = ARRAY['ds'])")
    trino.query(f"INSERT INTO {schema}.t VALUES (1, 'x'), (2, 'y')")
    assert sorted(map(tuple, trino.query(f"SELECT * FROM {schema}.t WHERE ds = 'y'"))) == [(2, "y")]
    assert (" trino get_database " in servers[catalog].log.read_text()) == (catalog != "tls")


@pytest.mark.timeout(1800)
def test_users_have_their_own_rights(
    trino: Trino, servers: dict[str, Server], realm: Any, authority: Authority
) -> None:
    with admin_of(servers["rights"], realm, authority) as admin:
        for name in ("shared", "closed"):
            admin.methods.create_database(Database(name=name, ownerName="trino"))
        for right in ("CREATE", "SELECT"):
            grant(admin.methods, on_database("shared"), right, "alice")
    trino.query("CREATE TABLE rights.shared.t (a integer)", user="alice")
    trino.query("INSERT INTO rights.shared.t VALUES 1", user="alice")
    assert trino.query("SELECT a FROM rights.shared.t", user="alice") == [(1,)]
    assert trino.query("SHOW SCHEMAS FROM rights LIKE 'closed'", user="alice") == []
    with pytest.raises(TrinoError, match="does not exist"):
        trino.query("SELECT a FROM rights.shared.t", user="bob")
    with admin_of(servers["rights"], realm, authority) as admin:
        grant(admin.methods, on_database("shared"), "SELECT", "bob")
    assert trino.query("SELECT a FROM rights.shared.t", user="bob") == [(1,)]
    with pytest.raises(TrinoError, match=r"failed: drop table shared\.t"):  # Trino's only message
        trino.query("DROP TABLE rights.shared.t", user="bob")
    assert trino.query("SELECT a FROM rights.shared.t", user="alice") == [(1,)]
    with pytest.raises(TrinoError, match="trino is not allowed to impersonate carol"):
        trino.query("SHOW SCHEMAS FROM rights", user="carol")
    assert " alice create_table" in servers["rights"].log.read_text()
