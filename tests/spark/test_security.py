"""A session of `spark_client`, and Spark's own catalog in it, with a metastore that speaks TLS only."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore

from tests.fixtures.server import Server
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
spark.stop()
"""


def test_spark_over_tls(database_url: str, start_metastore: Callable[..., Server], tmp_path: Path) -> None:
    authority = Authority(tmp_path / "pki")
    pem = authority.issue("localhost", "127.0.0.1")
    files = ["--tls-certificate", str(pem.chain), "--tls-key", str(pem.key)]
    server = start_metastore(database_url, "--tls", "required", *files)
    trust = tmp_path / "trust.p12"
    certificate = x509.load_pem_x509_certificate(authority.pem.read_bytes())
    trust.write_bytes(
        serialize_java_truststore([PKCS12Certificate(certificate, b"ours")], BestAvailableEncryption(b"changeit"))
    )
    shown = {"METASTORE_CLIENT_TLS": "true", "METASTORE_CLIENT_CA": str(authority.pem)}
    command = [sys.executable, "-W", "ignore", "-c", SESSION, f"thrift://localhost:{server.port}", str(trust)]
    done = subprocess.run(
        command, env={**os.environ, **shown}, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False
    )
    assert "read 1 ['plain', 'skewed']" in done.stdout, done.stderr[-3000:]
