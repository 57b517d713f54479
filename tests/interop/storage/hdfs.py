"""Hadoop's own file system in its mini cluster. The metastore uses its REST interface, without Java."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.interop.java import java_home, running_jvm
from tests.interop.maven import fetched

# fsspec's `hdfs` needs Hadoop's native library; in the server's process, it is replaced by WebHDFS.
SITE = """
import fsspec
from fsspec.implementations.webhdfs import WebHDFS

class Hdfs(WebHDFS):
    protocol = "hdfs"
    def __init__(self, host=None, port=None, **more):
        super().__init__(host="{host}", port={port}, user="{user}", **more)

fsspec.register_implementation("hdfs", Hdfs, clobber=True)
"""


class Cluster(NamedTuple):
    """A running cluster; `site` is a folder for the server's PYTHONPATH."""

    uri: str
    site: Path


@contextmanager
def mini_cluster(version: str, folder: Path, user: str) -> Iterator[Cluster]:
    """Starts a cluster of the version of PySpark's client. Raises UnavailableError."""
    jar = fetched(f"org.apache.hadoop:hadoop-client-minicluster:{version}", ".jar")
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None
    assert spec.submodule_search_locations
    path = f"{jar}:{spec.submodule_search_locations[0]}/jars/*"
    with running_jvm(java_home(17, 21), path, folder) as gateway:
        java = gateway.jvm
        conf = java.org.apache.hadoop.conf.Configuration()
        conf.set("hdfs.minidfs.basedir", str(folder / "data"))
        conf.set("dfs.permissions.enabled", "false")
        cluster = java.org.apache.hadoop.hdfs.MiniDFSCluster.Builder(conf).numDataNodes(1).build()
        try:
            web = urlsplit(str(cluster.getHttpUri(0)))
            site = folder / "site"
            site.mkdir()
            (site / "sitecustomize.py").write_text(SITE.format(host=web.hostname, port=web.port, user=user))
            yield Cluster(str(cluster.getURI().toString()), site)
        finally:
            cluster.shutdown()
