"""Writing and cleaning on HDFS and on S3, through Hadoop's clients and fsspec's."""

from __future__ import annotations

import getpass
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import boto3
import pyspark
import pytest
from moto.server import ThreadedMotoServer

from tests.fixtures.server import running
from tests.fixtures.sparks import environment
from tests.interop.maven import UnavailableError, class_path
from tests.interop.report import Report
from tests.interop.storage.hdfs import mini_cluster

ROOT = Path(__file__).parents[2]
JARS = Path(pyspark.__file__).parent / "jars"
HADOOP = next(JARS.glob("hadoop-client-api-*.jar")).stem.removeprefix("hadoop-client-api-")
SDK = "2.35.4"  # the version that this Hadoop was built with
S3A = (
    f"org.apache.hadoop:hadoop-aws:{HADOOP}",
    *(f"software.amazon.awssdk:{name}:{SDK}" for name in ("s3", "s3-transfer-manager", "sts")),
)


def without_sparks_own(jars: str) -> str:
    """Of two versions of a library, Spark must have its own."""
    own = {_library(jar) for jar in JARS.glob("*.jar")}
    return os.pathsep.join(jar for jar in jars.split(os.pathsep) if _library(Path(jar)) not in own)


def _library(jar: Path) -> str:
    return re.sub(r"-\d.*", "", jar.stem)


def try_writing(report: Report, uri: str, location: str, settings: dict[str, str]) -> None:
    """Runs the statements in a separate Spark."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.interop.storage.statements"]
    command += [uri, location, json.dumps(settings)]
    ran = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=1500, check=False
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    for group, name, error in json.loads(ran.stdout.splitlines()[-1]):
        report.add(group, name, error)
    assert report.failures == []


@pytest.mark.timeout(1800)
def test_hdfs(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_report: Callable[[str], Report]
) -> None:
    report = new_report(f"HDFS {HADOOP}")
    try:
        cluster = mini_cluster(HADOOP, tmp_path, getpass.getuser())
        with cluster as hdfs:
            monkeypatch.setenv("PYTHONPATH", str(hdfs.site))
            with running(database_url, tmp_path, "--allowed-locations", hdfs.uri) as server:
                try_writing(report, server.uri, f"{hdfs.uri}/warehouse", {})
    except UnavailableError as error:
        report.missing = str(error)
        pytest.skip(report.missing)


@pytest.mark.timeout(1800)
def test_s3(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_report: Callable[[str], Report]
) -> None:
    report = new_report(f"S3 (moto) through Hadoop {HADOOP}'s S3A")
    try:
        jars = without_sparks_own(class_path(*S3A))
    except UnavailableError as error:
        report.missing = str(error)
        pytest.skip(report.missing)
    s3 = ThreadedMotoServer(port=0)
    s3.start()
    try:
        host, port = s3.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        for name, value in {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            monkeypatch.setenv(name, value)
        client = boto3.client("s3")
        client.create_bucket(Bucket="bucket")
        client.close()
        settings = {
            "spark.driver.extraClassPath": jars,
            "spark.hadoop.fs.s3a.endpoint": endpoint,
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
            "spark.hadoop.fs.s3a.access.key": "key",
            "spark.hadoop.fs.s3a.secret.key": "secret",
        }
        with running(database_url, tmp_path) as server:
            try_writing(report, server.uri, "s3a://bucket/warehouse", settings)
    finally:
        s3.stop()
