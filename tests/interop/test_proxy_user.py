"""`spark-sql --proxy-user`: Spark obtains a delegation token with its submitter's ticket, and calls as another user."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspark
import pytest

from tests.fixtures.server import Server
from tests.wire.security.conftest import client_of, ticket_of

PROPERTY = "<property><name>{}</name><value>{}</value></property>"


def site(path: Path, settings: dict[str, str]) -> None:
    path.write_text(f"<configuration>{''.join(PROPERTY.format(*item) for item in settings.items())}</configuration>")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("allowed", ["trino", "nobody"])
def test_spark_acts_for_another_user(
    start: Callable[..., Server], realm: Any, environment: pytest.MonkeyPatch, tmp_path: Path, allowed: str
) -> None:
    options = ["--authentication", "kerberos,token", "--kerberos-keytab", realm.keytab]
    server = start(*options, "--proxy-users", f"alice?users={allowed}")
    site(tmp_path / "core-site.xml", {"hadoop.security.authentication": "kerberos"})
    hive = {
        "hive.metastore.uris": f"thrift://localhost:{server.port}",
        "hive.metastore.sasl.enabled": "true",
        "hive.metastore.kerberos.principal": "hive/_HOST@KRBTEST.COM",
    }
    site(tmp_path / "hive-site.xml", hive)
    krb5 = f"-Djava.security.krb5.conf={realm.env['KRB5_CONFIG']}"
    surroundings = os.environ | realm.env | {"HADOOP_CONF_DIR": str(tmp_path), "JAVA_TOOL_OPTIONS": krb5}
    database = f"acted_for_{allowed}"
    command = [Path(pyspark.__file__).parent / "bin" / "spark-sql", "--master", "local[1]", "--proxy-user", "trino"]
    with ticket_of(realm, "alice"):
        ran = subprocess.run(
            [*command, "-e", f"CREATE DATABASE {database} LOCATION '{tmp_path}/{database}'"],
            env=surroundings,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    if allowed == "trino":
        assert ran.returncode == 0, ran.stderr
        with ticket_of(realm, "alice"), client_of(server, kerberos="hive") as client:
            assert client.methods.get_database(database).ownerName == "trino"
        assert " trino create_database " in server.log.read_text()
    else:
        assert ran.returncode != 0
        assert "User: alice is not allowed to impersonate trino" in ran.stdout + ran.stderr
