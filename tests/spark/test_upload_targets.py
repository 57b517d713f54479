"""Executors find the locations of files by the directories that Spark names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from metastore.domain.skew_directories import file_path
from spark_client.jvm.capabilities import capabilities
from spark_client.jvm.objects import java_class
from spark_client.table.skew_layout import FLAT
from spark_client.write.placement import PlacementPlanner, Write
from spark_client.write.upload_targets import upload_targets
from tests.unit.write.test_upload_targets import LIST, OWN, QUERY, ROOT, partition, table

Prefix = Callable[[Mapping[str, str], str, int, int], str]


@pytest.fixture(scope="module")
def prefix(spark: SparkSession) -> Prefix:
    """UploadTargets.prefix: entries, Spark's directory, bytes and rows of the file."""
    gateway: Any = spark.sparkContext._gateway
    methods = capabilities(gateway).loader("core").loadClass("spark_client.core.UploadTargets").getDeclaredMethods()
    (found,) = (method for method in methods if method.getName() == "prefix")
    found.setAccessible(True)

    def called(targets: Mapping[str, str], inside: str, size: int, rows: int) -> str:
        entries = java_class(gateway.jvm, "java.util.HashMap")()
        for name, value in targets.items():
            entries[name] = value
        arguments = java_class(gateway.jvm, "java.util.List").of(entries, inside, size, rows).toArray()
        return str(found.invoke(None, arguments))

    return called


@pytest.mark.parametrize("value", ["1", "a/b", "x=y%", "100%", "ä€😀:1", "__HIVE_DEFAULT_PARTITION__", "a b\tc"])
@pytest.mark.parametrize("layout", ["", FLAT])
@pytest.mark.parametrize("exists", [False, True])
def test_the_location_is_the_one_that_is_published(
    spark: SparkSession, prefix: Prefix, value: str, layout: str, exists: bool
) -> None:
    java: Any = spark._jvm
    escaped = java_class(java, "org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils")
    inside = escaped.getPartitionPathString("P", value)
    skew = replace(LIST, locations={("8",): "s3a://bucket/eight"})
    snapshot = {(value,): partition(f"{ROOT}/there", skew)} if exists else {}
    write = Write(table(LIST, layout=layout), {}, overwrite=False)
    expected = PlacementPlanner(write, snapshot, QUERY).expected_directories((value,))
    targets = upload_targets(write, snapshot, QUERY)
    for number, directory in enumerate(expected):
        assert prefix(targets, f"{inside}/skewed_directory={number}", 10, 1) == file_path(directory, "")


def test_tables_without_partitions(prefix: Prefix) -> None:
    own = {"directory": OWN, "depth": "0", "number:0": ""}
    assert prefix(own, "", 10, 1) == f"{OWN}/"
    assert prefix({**own, "location:": ROOT}, "", 10, 1) == f"{ROOT}/"


def test_files_that_will_be_split_stay_in_sparks_directories(prefix: Prefix) -> None:
    targets = {"directory": OWN, "depth": "1", "column:0": "p=", "location:1:1": ROOT, "longest": "100"}
    assert prefix(targets, "P=1", 100, 2) == f"{ROOT}/"
    assert prefix(targets, "P=1", 101, 2) == f"{OWN}/P=1/"
    assert prefix(targets, "P=1", 101, 1) == f"{ROOT}/", "one row cannot be split"


def test_a_job_without_targets_leaves_its_files_in_sparks_directories(prefix: Prefix) -> None:
    assert prefix({"directory": OWN}, "P=1/number=2", 10, 1) == f"{OWN}/P=1/number=2/"
    assert prefix({"directory": OWN}, "", 10, 1) == f"{OWN}/"
