"""A session of `spark_client`, and Spark's own catalog in it, with a metastore that speaks TLS only and hides columns
from the session's user.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore

from tests.fixtures.server import Server
from tests.spark.since import is_there
from tests.wire.security.conftest import Authority

SESSION = """
import sys
import spark_client

conf = {
    "spark.ui.enabled": False,
    "spark.hadoop.hive.metastore.use.SSL": True,
    "spark.hadoop.hive.metastore.truststore.path": sys.argv[2],
    "spark.hadoop.hive.metastore.truststore.password": "changeit",
}
spark = spark_client.session(sys.argv[1], master="local[1]", conf=conf)
spark.sql("CREATE TABLE plain (a INT) STORED AS PARQUET")
spark.sql("CREATE TABLE skewed (a INT, x STRING) SKEWED BY (x) ON ('h') STORED AS DIRECTORIES STORED AS PARQUET")
spark.sql("INSERT INTO skewed VALUES (1, 'h'), (2, 'other')")
found = spark.sql("SELECT a FROM skewed WHERE x = 'h'").collect()[0][0]
print("read", found, sorted(table.name for table in spark.catalog.listTables()))
exec(sys.argv[3])
spark.stop()
"""
GRANTS = """
from metastore.client import MetastoreClient
from thrift_idl.gen.hive_metastore.ttypes import (
    Database, HiveObjectPrivilege, HiveObjectRef, HiveObjectType, PrincipalType, PrivilegeBag, PrivilegeGrantInfo
)

admin = MetastoreClient(sys.argv[1], user="root")


def of_clerk(grantor, *privileges):
    info = lambda name: PrivilegeGrantInfo(name, 0, grantor, PrincipalType.USER, False)
    user = PrincipalType.USER
    return PrivilegeBag([HiveObjectPrivilege(ref, "clerk", user, info(name), "SQL") for ref, name in privileges])


def take_from_creator(table):
    # Spark's Hive client grants the creator of a table four privileges on the whole of it.
    owned = admin.methods.get_table("default", table)
    owned.owner = "root"
    admin.methods.alter_table("default", table, owned)
    whole = HiveObjectRef(HiveObjectType.TABLE, "default", table)
    held = admin.methods.list_privileges("clerk", PrincipalType.USER, whole)
    admin.methods.revoke_privileges(of_clerk("clerk", *((whole, each.grantInfo.privilege) for each in held)))
"""


FILES = """
from pathlib import Path

# Spark itself writes these files, and asks the metastore afterwards or never.
for table, kind in {"sheet": "USING csv", "note": "STORED AS TEXTFILE"}.items():
    spark.sql(f"CREATE TABLE {table} (a INT) {kind}")
    folder = Path(admin.methods.get_table("default", table).sd.location.removeprefix("file:"))
    (folder / "rows").write_text("7\\n")
    take_from_creator(table)
    whole = HiveObjectRef(HiveObjectType.TABLE, "default", table)
    attempts = {
        "INSERT": f"INSERT INTO {table} VALUES (1)",
        "LOAD": f"LOAD DATA LOCAL INPATH '{__import__('pyspark').__file__}' INTO TABLE {table}",
        "OVERWRITE": f"INSERT OVERWRITE TABLE {table} VALUES (1)",
        "TRUNCATE": f"TRUNCATE TABLE {table}",
        "CREATE": f"CREATE TABLE other USING csv LOCATION '{folder}/new' AS SELECT 1 AS a",
    }
    for right in ("SELECT", "INSERT"):
        admin.methods.grant_privileges(of_clerk("root", (whole, right)))
        for name, statement in attempts.items():
            if right == "INSERT" and name in ("INSERT", "LOAD"):
                continue
            try:
                spark.sql(statement)
                print(table, right, name, "was executed")
            except Exception as error:
                print(table, right, name, "Permission denied" in str(error) or "LOAD DATA is not" in str(error))
    spark.table(table).createOrReplaceTempView("kept")
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW parsed AS SELECT * FROM {table}")
    spark.sql("SELECT (SELECT max(a) FROM parsed) AS a").createOrReplaceTempView("nested")
    names = (table, "kept", "parsed", "nested", f"(SELECT (SELECT max(a) FROM {table}))")
    queries = [f"SELECT * FROM {name}" for name in names]
    queries.append(f"CREATE TABLE taken USING csv AS SELECT * FROM {table}")
    print(table, "rows", [spark.sql(query).collect()[0][0] for query in queries[:5]])  # Spark caches the relation
    admin.methods.revoke_privileges(of_clerk("root", (whole, "SELECT")))
    for query in queries:
        try:
            spark.sql(query).collect()
            print(query, "was executed")
        except Exception as error:
            print(table, "read", "[SELECT] privilege" in str(error))
    print(table, "files", sorted(path.name for path in folder.iterdir()))
spark.sql(attempts["LOAD"])  # needs INSERT, not SELECT
print("loaded", (folder / "__init__.py").exists())

# Spark drops the table before it writes the rows of the next one.
admin.methods.create_database(Database("closed", None, folder.parent.as_uri() + "/closed", {}))
create = of_clerk("root", (HiveObjectRef(HiveObjectType.DATABASE, "closed"), "CREATE"))
admin.methods.grant_privileges(create)
spark.range(5).write.format("csv").saveAsTable("closed.sheet")
admin.methods.revoke_privileges(create)
try:
    spark.range(7).write.format("csv").mode("overwrite").saveAsTable("closed.sheet")
except Exception as error:
    left = spark.table("closed.sheet").count() if spark.catalog.tableExists("closed.sheet") else "gone"
    print("replaced", "[CREATE] privilege" in str(error), left)

# A right that ends while the rows are written.
publish, folder = MetastoreClient.publish, Path(admin.methods.get_table("default", "plain").sd.location[len("file:"):])
take_from_creator("plain")
insert = of_clerk("root", (HiveObjectRef(HiveObjectType.TABLE, "default", "plain"), "INSERT"))
admin.methods.grant_privileges(insert)


def publish_without_right(client, writes):
    admin.methods.revoke_privileges(insert)
    return publish(client, writes)


MetastoreClient.publish = publish_without_right
try:
    spark.sql("INSERT INTO plain VALUES (1)")
except Exception as error:
    print("revoked", "Permission denied" in str(error), list(folder.iterdir()))
"""


@pytest.mark.long
def test_spark_over_tls(database_url: str, start_metastore: Callable[..., Server], tmp_path: Path) -> None:
    authority = Authority(tmp_path / "pki")
    pem = authority.issue("localhost", "127.0.0.1")
    files = ["--tls-certificate", str(pem.chain), "--tls-key", str(pem.key)]
    grants = ["--authorization", "grants", "--admins", "root"]
    server = start_metastore(database_url, "--tls", "required", *files, *grants)
    trust = tmp_path / "trust.p12"
    certificate = x509.load_pem_x509_certificate(authority.pem.read_bytes())
    trust.write_bytes(
        serialize_java_truststore([PKCS12Certificate(certificate, b"ours")], BestAvailableEncryption(b"changeit"))
    )
    shown = {"METASTORE_CLIENT_TLS": "true", "METASTORE_CLIENT_CA": str(authority.pem)}
    clerk = {"HADOOP_USER_NAME": "clerk", "LOGNAME": "clerk"}
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        SESSION,
        f"thrift://localhost:{server.port}",
        str(trust),
        GRANTS + FILES,
    ]
    env = {**os.environ, **shown, **clerk}
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)
    assert "read 1 ['plain', 'skewed']" in done.stdout, done.stderr[-3000:]
    for table in ("sheet", "note"):
        for attempt in ("INSERT", "LOAD", "OVERWRITE", "TRUNCATE", "CREATE"):
            assert f"{table} SELECT {attempt} True" in done.stdout, done.stdout
        for attempt in ("OVERWRITE", "TRUNCATE", "CREATE"):
            assert f"{table} INSERT {attempt} True" in done.stdout, done.stdout
        assert f"{table} rows [7, 7, 7, 7, 7]" in done.stdout
        assert done.stdout.count(f"{table} read True") == 6, done.stdout
        assert f"{table} files ['rows']" in done.stdout, done.stdout
    assert "loaded True" in done.stdout, done.stderr[-3000:]
    # Spark 3.5 runs no hook before the drop, after which the clerk sees nothing of the database.
    replaced = "replaced True 5" if is_there("4.0") else "replaced False gone"
    assert replaced in done.stdout, done.stdout
    assert "revoked True []" in done.stdout, done.stdout + done.stderr[-3000:]
