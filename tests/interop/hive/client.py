"""Hive's own HiveMetaStoreClient of one version, driven through Py4J; Java's structs created from Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError

from tests.interop.report import Report
from tests.wire.builders import PARQUET

INSERT_ONLY = {"transactional": "true", "transactional_properties": "insert_only"}
"""The parameters of a transactional table in files of any format."""


class Hive:
    """A connected client, and the classes of its version."""

    def __init__(self, gateway: Any, version: str, uri: str, report: Report) -> None:
        self.gateway = gateway
        self.version = tuple(int(part) for part in version.split("."))
        self.report = report
        self.metastore = gateway.jvm.org.apache.hadoop.hive.metastore
        self.api = self.metastore.api
        self.uri = uri
        self.client = self.connect()

    @property
    def is_4(self) -> bool:
        return self.version >= (4,)

    def connect(self, **settings: str) -> Any:
        """Returns another client; `a_b` is the setting metastore.a.b."""
        configuration = self.metastore.conf.MetastoreConf.newMetastoreConf()
        configuration.set("metastore.thrift.uris", self.uri)
        for key, value in settings.items():
            configuration.set(f"metastore.{key.replace('_', '.')}", value)
        return self.metastore.HiveMetaStoreClient(configuration)

    def attempt(self, group: str, name: str) -> Any:
        """Counts the block as one attempt."""
        return self.report.attempt(group, name)

    @contextmanager
    def refused(self, group: str, name: str, exception: str, text: str = "") -> Iterator[None]:
        """Expects this Java exception, with this text."""
        with self.attempt(group, f"{name} is refused"):
            try:
                yield
            except Py4JJavaError as error:
                actual_java_exception = error.java_exception
                said = f"{actual_java_exception.getClass().getSimpleName()}: {actual_java_exception.getMessage()}"
                assert said.startswith(f"{exception}:"), said
                assert text in said, said
            else:
                raise AssertionError("it was not refused")

    def make(self, kind: str, **fields: Any) -> Any:
        """Returns a struct of this name, with these fields."""
        struct = getattr(self.api, kind)()
        for name, value in fields.items():
            getattr(struct, f"set{name[0].upper()}{name[1:]}")(value)
        return struct

    def columns(self, *pairs: tuple[str, str]) -> list[Any]:
        return [self.make("FieldSchema", name=name, type=kind, comment="") for name, kind in pairs]

    def descriptor(self) -> Any:
        """Returns a Parquet descriptor of an int and a string."""
        serde = self.make("SerDeInfo", serializationLib=PARQUET[2], parameters={"serialization.format": "1"})
        return self.make(
            "StorageDescriptor",
            cols=self.columns(("a", "int"), ("x", "string")),
            inputFormat=PARQUET[0],
            outputFormat=PARQUET[1],
            serdeInfo=serde,
            numBuckets=-1,
        )

    def table(self, database: str, name: str, *keys: tuple[str, str], **fields: Any) -> Any:
        return self.make(
            "Table",
            **{
                "dbName": database,
                "tableName": name,
                "owner": "me",
                "tableType": "MANAGED_TABLE",
                "sd": self.descriptor(),
                "partitionKeys": self.columns(*keys),
                "parameters": {"k": "v"},
            }
            | fields,
        )

    def partition(self, database: str, table: str, *values: str, **fields: Any) -> Any:
        given = {
            "dbName": database,
            "tableName": table,
            "values": list(values),
            "sd": self.descriptor(),
            "parameters": {},
        }
        return self.make("Partition", **given | fields)

    def longs(self, *numbers: int) -> Any:
        """Returns Java's list of Long: Py4J would make Integer of small numbers."""
        longs = self.gateway.jvm.java.util.ArrayList()
        for number in numbers:
            boxed = self.gateway.jvm.java.util.stream.LongStream.rangeClosed(number, number).boxed()
            longs.addAll(boxed.collect(self.gateway.jvm.java.util.stream.Collectors.toList()))
        return longs

    def long_by_name(self, name: str, number: int) -> Any:
        """Returns Java's map of one small Long, computed by Java itself."""
        util = self.gateway.jvm.java.util
        counted = util.stream.Collectors.groupingBy(
            util.function.Function.identity(), util.stream.Collectors.counting()
        )
        return util.Collections.nCopies(number, name).stream().collect(counted)

    @contextmanager
    def database(self, name: str) -> Iterator[str]:
        """Creates a database for a group; drops it with its contents at the end."""
        self.client.createDatabase(self.make("Database", name=name))
        yield name
        self.client.dropDatabase(name, True, True, True)


def values(partitions: Iterable[Any]) -> list[str]:
    """Returns the values of partitions, written `a/b`."""
    return ["/".join(partition.getValues()) for partition in partitions]


def equal(actual: Any, expected: Any) -> None:
    """Fails with both values if they differ. Java's lists are converted."""
    if isinstance(expected, list):
        actual = list(actual)
    if actual != expected:
        raise AssertionError(f"{actual!r} instead of {expected!r}")
