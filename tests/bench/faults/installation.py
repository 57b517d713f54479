"""A running metastore with rows in its tables, and an independent count of catalog entries and files."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import NullPool, create_engine, text
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from metastore.warehouse.paths import VERSIONS
from tests.wire.test_file_faults import Installation
from thrift_idl.gen.hive_metastore.ttypes import DropCatalogRequest, Partition, Table
from thrift_idl.gen.metastore import Metastore
from thrift_idl.gen.metastore.ttypes import CheckFilesRequest

_PATIENCE = 30.0  # seconds until a killed worker is replaced, and until its unfinished work is done
_UNFINISHED = """
    SELECT kind, location, reason, error, lease_ends_at - now() FROM file_operations
    WHERE kind NOT IN ('moved', 'held') AND reason <> 'replaced' AND (drop_id IS NULL OR origin IS NULL)
"""


@dataclass
class LocalDisk:
    """A local warehouse."""

    uri: str

    def files(self) -> dict[str, str]:
        """Returns the content of each file by its path in the warehouse, without the trash."""
        root = Path(self.uri)
        actual = (path for path in root.rglob("*") if path.is_file())
        return {
            str(path.relative_to(root)): path.read_text() for path in actual if "/.metastore_trash/" not in str(path)
        }

    def folders(self) -> set[str]:
        root = Path(self.uri)
        return {
            str(path.relative_to(root)) for path in root.rglob("*") if path.is_dir() and ".metastore" not in str(path)
        }

    def put(self, location: str, content: str) -> None:
        folder = Path(self.uri) / location
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "rows").write_text(content)

    def remove(self, location: str) -> None:
        shutil.rmtree(Path(self.uri) / location, ignore_errors=True)


@dataclass
class Bucket:
    """A warehouse in an object store: directories are only prefixes of names."""

    uri: str
    client: Any

    def files(self) -> dict[str, str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket="bucket", Prefix="w/")
        keys = [each["Key"] for page in pages for each in page.get("Contents", ())]
        return {
            key.removeprefix("w/"): self.client.get_object(Bucket="bucket", Key=key)["Body"].read().decode()
            for key in keys
            if not key.endswith("/") and "/.metastore_trash/" not in key
        }

    def folders(self) -> set[str]:
        return set()

    def remove(self, location: str) -> None:
        """Does nothing: object stores have no empty directories."""

    def put(self, location: str, content: str) -> None:
        self.client.put_object(Bucket="bucket", Key=f"w/{location}/rows", Body=content.encode())


class RunningInstallation(Installation):
    """The tables of the fault tests, in a server of their own."""

    def __init__(self, port: int, database_url: str, disk: LocalDisk | Bucket) -> None:
        self.port, self.disk, self.uri = port, disk, disk.uri
        self._engine = create_engine(database_url, poolclass=NullPool)
        self.broken = 0
        self._files: dict[str, str] = {}  # time of the last look at them
        self.write, self.is_published = None, False
        self.fill()

    @contextmanager
    def client(self) -> Iterator[Any]:
        transport = TBufferedTransport(TSocket("127.0.0.1", self.port))
        transport.open()
        try:
            yield Metastore.Client(TBinaryProtocolAccelerated(transport))
        finally:
            transport.close()

    def call(self, name: str, *arguments: Any) -> Any:
        """Makes a call as engines do: repeats it if the connection breaks."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                with self.client() as client:
                    return getattr(client, name)(*arguments)
            except (TTransportException, ConnectionError):
                self.broken += 1
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def put(self, location: str, text: str) -> None:
        self.disk.put(location, text)

    def clear(self) -> None:
        """Drops everything permanently."""
        for name in self.call("get_all_databases"):
            if name != "default":
                self.call("drop_database", name, True, True)
        for name in self.call("get_catalogs").names:
            if name != "hive":
                self.call("drop_catalog", DropCatalogRequest(name))
        self.settled()
        self.disk.remove("a")  # a directory that was made above a table, and stays
        self.write, self.is_published = None, False

    def renewed(self) -> None:
        """Restores the initial state."""
        self.clear()
        self.fill()

    def settled(self) -> None:
        """Waits until the servers have carried out all planned operations."""
        deadline = time.monotonic() + _PATIENCE
        with self._engine.connect() as connection:
            while left := connection.execute(text(_UNFINISHED)).all():
                connection.rollback()
                assert time.monotonic() < deadline, f"left undone: {left}"
                time.sleep(0.05)

    def rows(self, of: Table | Partition) -> set[str]:
        path = self._place(of.sd.location)
        return {row for name, row in self._files.items() if name.rpartition("/")[0] == path}

    def _place(self, location: str) -> str:
        return location.removeprefix("file:").removeprefix(str(self.disk.uri)).strip("/")

    def objects(self) -> dict[str, set[str]]:
        """Returns the expected content, by path in the warehouse."""
        self._files = self.disk.files()
        return {self._place(location): rows for location, rows in super().objects().items()}

    def wrong(self, expected: Set[str] | None) -> list[str]:
        """Counts missing directories, unreferenced directories and files, and lost or reappeared rows; adds the
        findings of `check`.
        """
        objects, folders, files = self.objects(), self.disk.folders(), self._files
        above = {str(parent) for location in objects for parent in Path(location).parents}
        owned = {location for location in objects if location}
        actual = [f"missing: {location}" for location in owned - folders if isinstance(self.disk, LocalDisk)]
        kept = {f"{location}/{VERSIONS}" for location in owned}  # the directory that an empty table keeps
        actual += [f"orphan: {location}" for location in folders - owned - above - kept]
        actual += [f"orphan: {name}" for name in files if name.rpartition("/")[0] not in owned]
        read = {row for rows in objects.values() for row in rows}
        if expected is not None:
            actual += [f"lost: {row}" for row in expected - read] + [f"came back: {row}" for row in read - expected]
        with suppress(TTransportException):
            actual += [f"check: {problem}" for problem in self.call("check_files", CheckFilesRequest()).problems]
        return actual
