"""An S3 server (moto) that counts the requests that it gets."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Final
from urllib.request import urlopen

import boto3
import pyspark
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

from tests.interop.maven import class_path

KEY, SECRET, REGION = "key", "secret", "us-east-1"
COPY: Final = "COPY"
_COUNTS = "/counted-requests"
_MULTIPART = {"POST uploads": "begin upload", "POST uploadId": "complete upload", "DELETE uploadId": "abort upload"}
# The version of Amazon's library that each Hadoop was built with; of Hadoop 3.4.1, a later one that mirrors have.
_SDK = {"3.4.1": "2.29.52", "3.4.2": "2.29.52", "3.5.0": "2.35.4"}


def hadoop_of(spark_home: Path = Path(pyspark.__file__).parent) -> str:
    """Returns the Hadoop version of a Spark."""
    jar = next((spark_home / "jars").glob("hadoop-client-api-*.jar"))
    return jar.stem.removeprefix("hadoop-client-api-")


def s3a_jars(spark_home: Path = Path(pyspark.__file__).parent) -> str:
    """Returns a class path with S3A for a Spark, without libraries that this Spark has. Raises UnavailableError."""
    version = hadoop_of(spark_home)
    if version in _SDK:
        needed = [f"software.amazon.awssdk:{name}:{_SDK[version]}" for name in ("s3", "s3-transfer-manager", "sts")]
    else:
        needed = [f"com.amazonaws:aws-java-sdk-{name}:1.12.262" for name in ("s3", "sts", "dynamodb")]
    own = {_library(jar) for jar in (spark_home / "jars").glob("*.jar")}
    jars = class_path(f"org.apache.hadoop:hadoop-aws:{version}", *needed).split(os.pathsep)
    return os.pathsep.join(jar for jar in jars if _library(Path(jar)) not in own)


def _library(jar: Path) -> str:
    return re.sub(r"-\d.*", "", jar.stem)


def s3a_settings(endpoint: str, jars: str) -> dict[str, str]:
    """Returns Spark's settings for a server."""
    return {
        "spark.driver.extraClassPath": jars,
        "spark.executor.extraClassPath": jars,
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.endpoint.region": REGION,
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.access.key": KEY,
        "spark.hadoop.fs.s3a.secret.key": SECRET,
    }


def environment_of(endpoint: str) -> dict[str, str]:
    """Returns the environment variables with which Amazon's Python library uses a server."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": REGION,
    }


class _Counting:
    """Counts the requests to an application by method and kind."""

    def __init__(self, application: Callable[[dict[str, Any], Any], Iterable[bytes]]) -> None:
        self._application = application
        self._counts: Counter[str] = Counter()
        self._lock = Lock()

    def __call__(self, request: dict[str, Any], answer: Any) -> Iterable[bytes]:
        if request["PATH_INFO"] == _COUNTS:
            with self._lock:
                counts, self._counts = self._counts, Counter()
            answer("200 OK", [("Content-Type", "application/json")])
            return [json.dumps(counts).encode()]
        with self._lock:
            self._counts[_kind(request)] += 1
        return self._application(request, answer)


def _kind(request: dict[str, Any]) -> str:
    method, query = request["REQUEST_METHOD"], request.get("QUERY_STRING", "")
    if "HTTP_X_AMZ_COPY_SOURCE" in request:
        return COPY
    if method == "GET" and ("list-type" in query or "prefix" in query):
        return "LIST"
    return _MULTIPART.get(f"{method} {re.split('[=&]', query)[0]}", method)


@contextmanager
def counting_s3(bucket: str) -> Iterator[str]:
    """Yields the endpoint of a server with one bucket."""
    server = make_server(
        "127.0.0.1",
        0,
        _Counting(DomainDispatcherApplication(create_backend_app)),
        threaded=True,
        request_handler=MotoRequestHandler,
    )
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    try:
        with urlopen(f"{endpoint}/moto-api/reset", data=b""):  # servers of one process share their objects
            client_of(endpoint).create_bucket(Bucket=bucket)
        yield endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def client_of(endpoint: str) -> Any:
    """Returns Amazon's client for a server."""
    return boto3.client(
        "s3", endpoint_url=endpoint, aws_access_key_id=KEY, aws_secret_access_key=SECRET, region_name=REGION
    )


def take_counts(endpoint: str) -> Counter[str]:
    """Returns the numbers of requests since the last call, by kind."""
    with urlopen(f"{endpoint}{_COUNTS}") as answer:
        return Counter(json.load(answer))
