"""Hive's own servers on our views, and on the export of our catalog, answer as this server does.

`METASTORE_TEST_INTEROP_TABLES` and `METASTORE_TEST_INTEROP_PARTITIONS` set the size of the catalog.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.engine import make_url

from metastore.cli.commands import run
from migrations import runner
from tests.fixtures import server
from tests.fixtures.database import execute, reachable_folder
from tests.fixtures.installed_postgres import installed_postgres
from tests.interop.hive_schema import public_queries
from tests.interop.hive_schema.catalog import fill
from tests.interop.hive_schema.comparison import unexplained
from tests.interop.hive_schema.reads import everything
from tests.interop.hive_schema.servers import SCRIPTS, Jdbc, mariadb, mysql, psql, running, scripts
from tests.interop.hive_schema.spark_statements import LEXER_ERROR, WITH_A_BLANK, WRITES, answers, objects, reads
from tests.interop.maven import UnavailableError
from tests.interop.report import Report
from tests.wire.importing import moving
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import GetTableRequest, Table

pytestmark = pytest.mark.timeout(3600)  # the catalog is filled during the first test
TABLES = int(os.environ.get("METASTORE_TEST_INTEROP_TABLES", "100"))
PARTITIONS = int(os.environ.get("METASTORE_TEST_INTEROP_PARTITIONS", "20000"))
READER = "tool"
UNTYPED = "stringtype=unspecified"
"""Hive 3.1 compares dates with texts, which PostgreSQL rejects for texts that the driver declares as such."""
LATIN1 = " CHARACTER SET latin1 COLLATE latin1_bin"

# Fields and objects for which a version's schema has no place.
WITHOUT_PLACE = {
    "2.3": {("database", "createTime"), ("privileges", "authorizer")},
    "3.1": {("database", "createTime"), ("indexes", "not in the source")},
    "4.0": {("indexes", "not in the source")},
}
ON_VIEWS = r"get_indexes/#/sd/"  # the views show the descriptor of the table that holds the index


class Catalog:
    """Our database, which holds a varied catalog, and this server's answers."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        runner.upgrade(url)
        with server.running(url, folder / "ours") as ours, server.connected(ours, ThriftHiveMetastore) as client:
            fill(client, TABLES, PARTITIONS)
            self.answers = everything(client)

    def new_database(self, name: str) -> str:
        execute(self.url, f"DROP DATABASE IF EXISTS {name}")
        execute(self.url, f"CREATE DATABASE {name}")
        return make_url(self.url).set(database=name).render_as_string(hide_password=False)

    def export(self, version: str, dialect: str) -> Path:
        file = self.folder / f"{version}.{dialect}.sql"
        if not file.exists():
            options = ["--schema", version, "--dialect", dialect, "--database-url", self.url]
            assert run(["export", "--hive-sql", str(file), *options]) == 0
        return file

    def jdbc(self, database: str, user: str | None = None, password: str | None = None) -> Jdbc:
        url = make_url(self.url)
        address = f"jdbc:postgresql://{url.host}:{url.port}/{database}"
        return Jdbc(address, user or str(url.username), password or str(url.password))


@pytest.fixture(scope="session")
def catalog() -> Iterator[Catalog]:
    with reachable_folder() as folder:
        folder.chmod(0o755)
        (folder / "postgres").mkdir()
        (folder / "ours").mkdir()
        with installed_postgres(folder / "postgres", tls=False) as url:
            yield Catalog(url, folder)


def compare(report: Report, version: str, ours: dict[str, Any], theirs: dict[str, Any], known: str = "(?!)") -> None:
    """Reports each kind of difference that is not explained by the version or `known`."""
    actual = unexplained(version, ours, theirs, known)
    for kind, (number, example) in actual.items():
        report.add("replies", f"{number} × {kind}", example)
    if not actual:
        report.add("replies", f"{len(theirs)} calls, 0 differences")


@pytest.mark.parametrize("version", ["2.3", "3.1"])
def test_hive_on_the_views(version: str, catalog: Catalog, new_report: Callable[[str], Report], tmp_path: Path) -> None:
    report = new_report(f"Hive {version} on the views")
    jdbc = _reader(catalog, catalog.url, tmp_path)
    with running(version, tmp_path / "hive", jdbc) as hive, server.connected(hive, ThriftHiveMetastore) as client:
        compare(report, version, catalog.answers, everything(client), ON_VIEWS)
    assert not report.failures


def _reader(catalog: Catalog, url: str, folder: Path) -> Jdbc:
    """Makes a reader of a database, and returns its connection to the views."""
    file = folder / "password"
    file.write_text("the-reader")
    assert run(["db", "reader", "add", READER, "--password-file", str(file), "--database-url", url]) == 0
    return catalog.jdbc(f"{make_url(url).database}?currentSchema=hive&{UNTYPED}", READER, "the-reader")


@pytest.mark.parametrize("version", SCRIPTS)
def test_hive_on_an_export_to_postgresql(
    version: str, catalog: Catalog, new_report: Callable[[str], Report], tmp_path: Path
) -> None:
    report = new_report(f"Hive {version} on an export to PostgreSQL")
    name = f"hive_{version.replace('.', '')}"
    url = catalog.new_database(name)
    _load_postgresql(url, version, catalog.export(version, "postgresql"))
    jdbc = catalog.jdbc(f"{name}?{UNTYPED}")
    with running(version, tmp_path / "hive", jdbc) as hive, server.connected(hive, ThriftHiveMetastore) as client:
        compare(report, version, catalog.answers, everything(client))
        _write(report, client)
    assert not report.failures


@pytest.mark.parametrize("version", SCRIPTS)
def test_hive_on_an_export_to_mysql(
    version: str, catalog: Catalog, new_report: Callable[[str], Report], tmp_path: Path
) -> None:
    report = new_report(f"Hive {version} on an export to MariaDB")
    name = f"hive_{version.replace('.', '')}"
    try:
        with mariadb(catalog.folder / f"mariadb{version}") as (jdbc, socket), ExitStack() as stack:
            _load_mysql(socket, name, version, catalog.export(version, "mysql"))
            reached = Jdbc(jdbc.url + name, jdbc.user, jdbc.password)
            hive = stack.enter_context(running(version, tmp_path / "hive", reached))
            client = stack.enter_context(server.connected(hive, ThriftHiveMetastore))
            compare(report, version, catalog.answers, everything(client))
            _write(report, client)
    except UnavailableError as error:
        report.missing = str(error)
        pytest.skip(report.missing)
    assert not report.failures


def test_imports_of_exports(catalog: Catalog, new_report: Callable[[str], Report], tmp_path: Path) -> None:
    """Loaded exports, and the views, have what the server has: compared by the queries of imports, without Hive."""
    report = new_report("Exports, as sources of imports")
    with server.running(catalog.url, tmp_path) as ours, ExitStack() as stack:
        jdbc, socket = stack.enter_context(mariadb(catalog.folder / "mariadb"))
        for version in SCRIPTS:
            name = f"imported_{version.replace('.', '')}"
            with report.attempt("PostgreSQL", version):
                url = catalog.new_database(name)
                _load_postgresql(url, version, catalog.export(version, "postgresql"))
                assert _kinds(url, ours.uri) == WITHOUT_PLACE[version]
            with report.attempt("MariaDB", version):
                _load_mysql(socket, name, version, catalog.export(version, "mysql"))
                source = f"{jdbc.url.removeprefix('jdbc:')}{name}".replace("//", f"//{jdbc.user}:{jdbc.password}@")
                assert _kinds(source, ours.uri) == WITHOUT_PLACE[version]
    assert not report.failures


def _kinds(source: str, uri: str) -> set[tuple[str, str]]:
    plain = re.sub(r"^postgresql\+\w+", "postgresql", source)
    return {(difference.kind, difference.field) for difference in moving.compare(plain, uri)}


def test_statements_of_spark(catalog: Catalog, new_report: Callable[[str], Report], tmp_path: Path) -> None:
    """A session of Spark at this server, and one at each Hive on the views, print the same rows.

    Hive's grammar rejects the filters of `WITH_A_BLANK`.
    """
    report = new_report("Spark on Hive 2.3 and 3.1 on the views")
    url = catalog.new_database("spark")
    runner.upgrade(url)
    with server.running(url, tmp_path) as ours:
        with server.connected(ours, ThriftHiveMetastore) as client:
            fill(client, TABLES, PARTITIONS)
            statements = reads(*objects(client))
        written = answers(ours.uri, ours.warehouse, [*WRITES, *statements])
    assert not [each for each in written[: len(WRITES)] if each]
    reader = _reader(catalog, url, tmp_path)
    for version in ("2.3", "3.1"):
        with running(version, tmp_path / version, reader) as hive:
            theirs = answers(hive.uri, ours.warehouse, statements)
        for statement, one, other in zip(statements, written[len(WRITES) :], theirs, strict=True):
            with report.attempt("statements", f"{version}: {statement}"):
                assert LEXER_ERROR not in one
                assert other[1:] == [LEXER_ERROR] if statement in WITH_A_BLANK else other == one
        report.add("rows", f"{version}: {sum(map(len, theirs))}")
    assert not report.failures


def test_queries_of_public_tools(catalog: Catalog, new_report: Callable[[str], Report]) -> None:
    report = new_report("Queries of Amundsen, DataHub, OpenMetadata and Airflow")
    url = catalog.new_database("hive_public")
    _load_postgresql(url, "3.1", catalog.export("3.1", "postgresql"))
    views, hive = _rows(catalog.url, "hive"), _rows(url, "public", lower_case=True)
    assert views.keys() == hive.keys()
    expected = public_queries.counts(catalog.answers)
    for name, rows in views.items():
        with report.attempt("queries", f"{name}: {len(rows)} rows"):
            assert rows == hive[name]
            assert len(rows) == expected.pop(name, len(rows))
    assert not expected
    assert not report.failures


def _rows(url: str, schema: str, *, lower_case: bool = False) -> dict[str, list[str]]:
    """The rows of each query, sorted. Hive's own schema has no names in lower case, which Airflow's query needs."""
    with create_engine(url, poolclass=NullPool).connect() as connection:
        if lower_case:
            for name in ("PARTITIONS", "TBLS", "DBS"):
                columns = connection.execute(
                    text(f"""
                    SELECT string_agg(format('%I AS %I', attname, lower(attname)), ', ') FROM pg_attribute
                    WHERE attrelid = '"{name}"'::regclass AND attnum > 0""")
                ).scalar()
                connection.execute(text(f'CREATE VIEW {name.lower()} AS SELECT {columns} FROM "{name}"'))
        connection.execute(text(f"SET search_path = {schema}"))
        return {name: sorted(map(str, ask())) for name, ask in public_queries.queries(connection)}


def _load_postgresql(url: str, version: str, export: Path) -> None:
    for script in scripts(version, "postgres"):
        psql(make_url(url), "-v", "ON_ERROR_STOP=0", "-f", script.name, folder=script.parent)
    psql(make_url(url), "-f", str(export))


def _load_mysql(socket: Path, name: str, version: str, export: Path) -> None:
    mysql(socket, f"CREATE DATABASE {name}{'' if version == '4.0' else LATIN1}")
    for file in (*scripts(version, "mysql"), export):
        mysql(socket, database=name, file=file)


def _write(report: Report, client: Any) -> None:
    """A server on an export also writes: its sequences continue, and a dropped table takes nothing of others."""
    before = _table(client, "plain_0")
    with report.attempt("writes", "a partition, a table, drops"):
        part = client.get_partition_by_name("sales", "parted_1", "ds=a b/hour=0")
        part.values = ["new", "9"]
        part.sd.location = None
        client.add_partition(part)
        assert client.get_partition_by_name("sales", "parted_1", "ds=new/hour=9").values == ["new", "9"]
        created = _table(client, "plain_0")
        created.tableName, created.sd.location = "created", None
        client.create_table(created)
        client.drop_table("sales", "created", True)
        client.drop_table("sales", "plain_6", False)
        client.drop_partition("sales", "parted_1", ["a b", "0"], False)
        assert _table(client, "plain_0").sd == before.sd


def _table(client: Any, name: str) -> Table:
    """Hive 4 has only this method to read a table."""
    return client.get_table_req(GetTableRequest("sales", name)).table
