"""HDFS clusters that tests of Hudi start: the servers reach them by their REST interfaces, without Java."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Replaces fsspec's `hdfs`, which needs Hadoop's native library. `HiveTestService` writes the lines of {addresses}: the
# address of a cluster and the one of its REST interface.
_SITE = """
import fsspec
from fsspec.implementations.webhdfs import WebHDFS

class Hdfs(WebHDFS):
    protocol = "hdfs"
    def __init__(self, host=None, port=None, **more):
        lines = (line.split() for line in open("{addresses}"))
        host, port = {{cluster: rest for cluster, rest in lines}}[f"{{host}}:{{port}}"].split(":")
        super().__init__(host=host, port=int(port), user="root", **more)

fsspec.register_implementation("hdfs", Hdfs, clobber=True)
"""


@contextmanager
def reachable_clusters(folder: Path) -> Iterator[Path]:
    """Yields the file of addresses. Servers that start meanwhile reach its clusters."""
    (folder / "site").mkdir(parents=True)
    addresses = folder / "addresses"
    (folder / "site" / "sitecustomize.py").write_text(_SITE.format(addresses=addresses))
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(folder / "site")
    try:
        yield addresses
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before
