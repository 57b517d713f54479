"""Trino: Hive and Iceberg tables written and read, with the metastore's locks and without."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures.server import Server, connected
from tests.interop import trino_dependents, trino_list_bucketing
from tests.interop import trino_statements as statements
from tests.interop.maven import UnavailableError
from tests.interop.report import Report
from tests.interop.trino import USER, VERSION, Trino, running_trino
from tests.interop.trino_statements import Script
from tests.wire.builders import unique
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import PrincipalType

Group = Callable[[Script], None]
HIVE: tuple[Group, ...] = statements.hive_tables, statements.hive_partitions, statements.hive_functions
ICEBERG: tuple[Group, ...] = statements.iceberg_tables, statements.iceberg_races
GROUPS: dict[str, tuple[Group, ...]] = {
    "hive": (*HIVE, statements.hive_transactions),
    "iceberg": ICEBERG,
    "unlocked": ICEBERG,
}


def catalogs(server: Server) -> dict[str, dict[str, str]]:
    """Reads files through Hadoop: Trino's own local file system has only names of its own (`local:///`)."""
    common = {"hive.metastore.uri": server.uri, "fs.hadoop.enabled": "true"}
    hive, iceberg = ({"connector.name": name, **common} for name in ("hive", "iceberg"))
    return {
        "hive": hive | {"hive.allow-register-partition-procedure": "true"},
        "secured": hive | {"hive.security": "sql-standard"},
        "iceberg": iceberg | {"iceberg.register-table-procedure.enabled": "true"},
        "unlocked": iceberg | {"iceberg.hive-catalog.locking-enabled": "false"},
        "coral": hive | {"hive.hive-views.enabled": "true"},
        "legacy": hive | {"hive.hive-views.enabled": "true", "hive.hive-views.legacy-translation": "true"},
        "native": {
            "connector.name": "hive",
            "hive.metastore.uri": server.uri,
            "fs.native-local.enabled": "true",
            "local.location": "/",
        },
    }


@pytest.mark.timeout(1800)
def test_trino(metastore_server: Server, tmp_path: Path, new_report: Callable[[str], Report]) -> None:
    report = new_report(f"Trino {VERSION}")
    try:
        with running_trino(tmp_path, catalogs(metastore_server)) as trino:
            for catalog, groups in GROUPS.items():
                script = Script(trino, report, catalog, unique(catalog))
                for group in (statements.schemas, *groups, statements.end):
                    script.group = f"{catalog}, {group.__name__.replace('_', ' ')}"
                    group(script)
            dependents(trino, report, metastore_server)
            list_bucketing(trino, report, metastore_server, tmp_path)
            secured(trino, report, metastore_server)
            native(trino, report, tmp_path)
    except UnavailableError as error:
        report.missing = str(error)
        pytest.skip(report.missing)
    assert report.failures == []


def dependents(trino: Trino, report: Report, server: Server) -> None:
    """Dependent tables, which are Hive views to Trino."""
    script = Script(trino, report, "hive", unique("dependents"))
    script.do("CREATE SCHEMA {}")
    with connected(server) as client:
        for group in (trino_dependents.days, trino_dependents.types):
            script.group = f"dependent tables, {group.__name__}"
            group(script, client, ("coral", "legacy"))
        trino_dependents.end(script, client)


def list_bucketing(trino: Trino, report: Report, server: Server, folder: Path) -> None:
    """Tables with a directory for each heavy value, and flat ones."""
    script = Script(trino, report, "hive", unique("skewed"))
    script.group = "list bucketing"
    script.do("CREATE SCHEMA {}")
    with connected(server) as client:
        trino_list_bucketing.read(script, client, folder / "skewed")
    script.do("DROP SCHEMA {} CASCADE")


def secured(trino: Trino, report: Report, server: Server) -> None:
    """The metastore's own roles and privileges."""
    with connected(server, ThriftHiveMetastore) as client:
        client.grant_role("admin", USER, PrincipalType.USER, "test", PrincipalType.USER, True)
    script = Script(trino, report, "secured", unique("secured"))
    script.group = "secured, roles"
    statements.roles(script)
    statements.end(script)


def native(trino: Trino, report: Report, folder: Path) -> None:
    """Trino's own local file system, below a schema with one of its names."""
    script = Script(trino, report, "native", unique("native"))
    script.do(f"CREATE SCHEMA {{}} WITH (location = 'local://{folder}/native')")
    script.do("CREATE TABLE {}.t (a integer, ds varchar) WITH (partitioned_by = ARRAY['ds'])")
    script.do("INSERT INTO {}.t VALUES (1, 'x'), (2, 'y')")
    script.ask("SELECT * FROM {}.t", (1, "x"), (2, "y"))
    script.do("DROP SCHEMA {} CASCADE")
