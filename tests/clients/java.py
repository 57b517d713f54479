"""Hive's own Java client in PySpark's jars, driven through Py4J: a JVM without Spark, and Java's structs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.java_gateway import launch_gateway

from tests.wire.builders import PARQUET


@contextmanager
def running_jvm(folder: Path) -> Iterator[Any]:
    """A Java virtual machine with all of Spark's jars; it ends with the block."""
    with (folder / "java.log").open("w") as log:
        gateway = launch_gateway(popen_kwargs={"cwd": folder, "stdout": log, "stderr": log})
        try:
            yield gateway.jvm
        finally:
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait(timeout=30)


class Hive:
    """Java's classes for the metastore, and clients of one."""

    def __init__(self, jvm: Any, uri: str) -> None:
        self.jvm = jvm
        self.metastore = jvm.org.apache.hadoop.hive.metastore
        self.api = self.metastore.api
        self.configuration = jvm.org.apache.hadoop.hive.conf.HiveConf()
        self.configuration.set("hive.metastore.uris", uri)

    def connect(self, **settings: str) -> Any:
        """Returns a HiveMetaStoreClient; `a_b` is Hive's setting a.b."""
        configuration = self.jvm.org.apache.hadoop.hive.conf.HiveConf(self.configuration)
        for key, value in settings.items():
            configuration.set(key.replace("_", "."), value)
        return self.metastore.HiveMetaStoreClient(configuration)

    def columns(self, *pairs: tuple[str, str]) -> list[Any]:
        return [self.api.FieldSchema(name, kind, "") for name, kind in pairs]

    def descriptor(self) -> Any:
        """Returns a Parquet descriptor of an int and a string."""
        sd = self.api.StorageDescriptor()
        sd.setCols(self.columns(("a", "int"), ("x", "string")))
        sd.setInputFormat(PARQUET[0])
        sd.setOutputFormat(PARQUET[1])
        sd.setSerdeInfo(self.api.SerDeInfo(None, PARQUET[2], {"serialization.format": "1"}))
        sd.setNumBuckets(-1)
        return sd

    def table(self, database: str, name: str, *keys: tuple[str, str]) -> Any:
        table = self.api.Table()
        table.setDbName(database)
        table.setTableName(name)
        table.setOwner("me")
        table.setTableType("MANAGED_TABLE")
        table.setSd(self.descriptor())
        table.setPartitionKeys(self.columns(*keys))
        table.setParameters({"k": "v"})
        return table

    def partition(self, database: str, table: str, *values: str) -> Any:
        partition = self.api.Partition()
        partition.setDbName(database)
        partition.setTableName(table)
        partition.setValues(list(values))
        partition.setSd(self.descriptor())
        partition.setParameters({})
        return partition

    def longs(self, *numbers: int) -> Any:
        """Returns Java's list of Long: Py4J would make Integer of small numbers."""
        longs = self.jvm.java.util.ArrayList()
        for number in numbers:
            boxed = self.jvm.java.util.stream.LongStream.rangeClosed(number, number).boxed()
            longs.addAll(boxed.collect(self.jvm.java.util.stream.Collectors.toList()))
        return longs


@contextmanager
def refused(exception: str, text: str = "") -> Iterator[None]:
    """Expects this Java exception of the metastore, with this text."""
    with pytest.raises(Py4JJavaError) as raised:
        yield
    error = raised.value.java_exception
    assert (error.getClass().getSimpleName(), text in str(error.getMessage())) == (exception, True), error.getMessage()


def names(values: Sequence[Any]) -> list[str]:
    """Returns the values of Java's partitions, written `a/b`."""
    return ["/".join(value.getValues()) for value in values]
