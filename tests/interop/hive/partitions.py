"""Partitions: written, read in every way, filtered, moved, marked."""

from __future__ import annotations

from pathlib import Path

from tests.interop.hive.client import Hive, equal, values
from tests.wire.builders import unique

KEYS = ("ds", "string"), ("n", "int")
ODD = ["a=1/b c%", "é"]
FILTERS = {
    'ds = "2024-01-01"': ["2024-01-01/10", "2024-01-01/9"],
    "n > 9 and n < 100": ["2024-01-01/10"],
    "ds = '2024-01-02' or n <= 9": ["2024-01-01/9", "2024-01-02/100"],
    'ds like "2024.*" and n != 9': ["2024-01-01/10", "2024-01-02/100"],
    '(n) in (9, 100) and (ds) not in ("2024-01-02")': ["2024-01-01/9"],
    "n between 9 and 10": ["2024-01-01/10", "2024-01-01/9"],
    "9 < n and not_there is not here": None,
}


def partitions(hive: Hive, folder: Path) -> None:
    """Creates the partitions of one table."""
    with hive.database(unique("parts")) as database:
        hive.client.createTable(hive.table(database, "t", *KEYS))
        _write(hive, database, folder)
        _read(hive, database)
        if hive.is_4:
            _read_as_4(hive, database)
        _alter(hive, database)
        _mark(hive, database)
        _drop(hive, database)


def filters(hive: Hive, _: Path) -> None:
    """Filters in Hive's own language, and expressions that only Hive can read."""
    group, client = "filters", hive.client
    with hive.database(unique("filters")) as database:
        client.createTable(hive.table(database, "t", *KEYS))
        days = [("2024-01-01", "9"), ("2024-01-01", "10"), ("2024-01-02", "100")]
        client.add_partitions([hive.partition(database, "t", *day) for day in days])
        for text, expected in FILTERS.items():
            if expected is None:
                with hive.refused(group, f"listPartitionsByFilter {text}", "MetaException"):
                    client.listPartitionsByFilter(database, "t", text, -1)
                continue
            with hive.attempt(group, f"listPartitionsByFilter {text}"):
                equal(values(client.listPartitionsByFilter(database, "t", text, -1)), expected)
                equal(client.getNumPartitionsByFilter(database, "t", text), len(expected))
                partition_specs_by_filter = client.listPartitionSpecsByFilter(database, "t", text, -1)
                equal(partition_specs_by_filter.size(), len(expected))
        with hive.attempt(group, "listPartitionsByFilter with a limit, of none"):
            equal(values(client.listPartitionsByFilter(database, "t", "n > 0", 1)), ["2024-01-01/10"])
            equal(client.listPartitionsByFilter(database, "t", "n > 0", 0), [])
        with hive.attempt(group, "listPartitionsByExpr, an expression of Hive's own"):
            partition_specs_by_filter = hive.gateway.jvm.java.util.ArrayList()
            unknown = client.listPartitionsByExpr(
                database, "t", bytes([255]), "__HIVE_DEFAULT_PARTITION__", -1, partition_specs_by_filter
            )
            equal(len(partition_specs_by_filter), 3)
            assert unknown in (True, False)
        if hive.is_4:
            _filters_of_4(hive, database)


def _filters_of_4(hive: Hive, database: str) -> None:
    client = hive.client
    with hive.attempt("filters", "listPartitionsSpecByExpr, listPartitionNames by an expression"):
        request = hive.make("PartitionsByExprRequest", dbName=database, tblName="t", expr=bytes([255]))
        partition_spec = hive.gateway.jvm.java.util.ArrayList()
        client.listPartitionsSpecByExpr(request, partition_spec)
        equal(sum(each.getSharedSDPartitionSpec().getPartitions().size() for each in partition_spec), 3)
        equal(len(client.listPartitionNames(request)), 3)
    with hive.attempt("filters", "getPartitionsWithSpecs"):
        request = hive.make("GetPartitionsRequest", dbName=database, tblName="t")
        request.setProjectionSpec(hive.make("GetProjectionsSpec", fieldList=["values", "sd.location"]))
        spec = hive.make("GetPartitionsFilterSpec", filters=["ds = '2024-01-02'"])
        spec.setFilterMode(hive.api.PartitionFilterMode.BY_EXPR)
        request.setFilterSpec(spec)
        partition_spec = client.getPartitionsWithSpecs(request).getPartitionSpec()
        parts = [partition for spec in partition_spec for partition in spec.getSharedSDPartitionSpec().getPartitions()]
        equal([list(part.getValues()) for part in parts], [["2024-01-02", "100"]])


def _write(hive: Hive, database: str, folder: Path) -> None:
    group, client = "partitions", hive.client
    with hive.attempt(group, "add_partition"):
        made = client.add_partition(hive.partition(database, "t", *ODD, parameters={"p": "q"}))
        equal((list(made.getValues()), made.getParameters().get("p")), (ODD, "q")) if made else None
        assert client.getPartition(database, "t", ODD).getSd().getLocation().startswith("file:")
    with hive.refused(group, "add_partition of one that is there", "AlreadyExistsException"):
        client.add_partition(hive.partition(database, "t", *ODD))
    with hive.refused(group, "add_partition to no table", "InvalidObjectException"):
        client.add_partition(hive.partition(database, "none", "a", "1"))
    with hive.attempt(group, "add_partitions"):
        equal(client.add_partitions([hive.partition(database, "t", "b", str(n)) for n in (10, 9)]), 2)
    with hive.attempt(group, "add_partitions, those that are not there"):
        some = [hive.partition(database, "t", "b", str(n)) for n in (9, 8)]
        equal(values(client.add_partitions(some, True, True)), ["b/8"])
    with hive.attempt(group, "appendPartition"):
        equal(list(client.appendPartition(database, "t", ["c", "1"]).getValues()), ["c", "1"])
        equal(list(client.appendPartition(database, "t", "ds=c/n=2").getValues()), ["c", "2"])
    with hive.attempt(group, "add_partitions_pspec, listPartitionSpecs"):
        proxies = hive.metastore.partition.spec.PartitionSpecProxy
        proxy = client.listPartitionSpecs(database, "t", -1)
        equal(proxy.size(), 6)
        client.createTable(hive.table(database, "copy", *KEYS))
        copy = proxies.Factory.get(proxy.toPartitionSpec())
        copy.setTableName("copy")
        copy.setRootLocation(f"file:{folder}/{database}/copy")
        equal(client.add_partitions_pspec(copy), 6)
        equal(client.listPartitionNames(database, "copy", -1).size(), 6)
    with hive.attempt(group, "exchange_partition, exchange_partitions"):
        for name in ("source", "target"):
            client.createTable(hive.table(database, name, *KEYS))
        client.add_partitions([hive.partition(database, "source", text, "1") for text in "xy"])
        client.exchange_partition({"ds": "x", "n": "1"}, database, "source", database, "target")
        client.exchange_partitions({"ds": "y"}, database, "source", database, "target")
        equal(client.listPartitionNames(database, "target", -1), ["ds=x/n=1", "ds=y/n=1"])


def _read(hive: Hive, database: str) -> None:
    group, client = "partitions", hive.client
    names = ["ds=a%3D1%2Fb c%25/n=é", "ds=b/n=10", "ds=b/n=8", "ds=b/n=9", "ds=c/n=1", "ds=c/n=2"]
    with hive.attempt(group, "getPartition"):
        equal(list(client.getPartition(database, "t", names[0]).getValues()), ODD)
        equal(list(client.getPartition(database, "t", ["b", "9"]).getValues()), ["b", "9"])
        partition_with_auth_info = client.getPartitionWithAuthInfo(database, "t", ["b", "9"], "me", [])
        equal((partition_with_auth_info.getTableName(), partition_with_auth_info.getCatName()), ("t", "hive"))
    with hive.refused(group, "getPartition of none", "NoSuchObjectException"):
        client.getPartition(database, "t", ["no", "0"])
    with hive.attempt(group, "listPartitions"):
        equal(len(client.listPartitions(database, "t", -1)), 6)
        equal(len(client.listPartitions(database, "t", 2)), 2)
        equal(values(client.listPartitions(database, "t", ["b"], -1)), ["b/10", "b/8", "b/9"])
        equal(values(client.listPartitions(database, "t", ["", "9"], -1)), ["b/9"])
    with hive.attempt(group, "listPartitionsWithAuthInfo"):
        equal(len(client.listPartitionsWithAuthInfo(database, "t", -1, "me", [])), 6)
        equal(len(client.listPartitionsWithAuthInfo(database, "t", ["c"], -1, "me", [])), 2)
    with hive.attempt(group, "listPartitionNames"):
        equal(client.listPartitionNames(database, "t", -1), names)
        equal(client.listPartitionNames(database, "t", ["b"], -1), names[1:4])
    with hive.attempt(group, "getPartitionsByNames"):
        partition_with_auth_info = client.getPartitionsByNames(database, "t", [names[0], "ds=no/n=0", names[5]])
        equal(sorted(values(partition_with_auth_info)), ["a=1/b c%/é", "c/2"])
    with hive.attempt(group, "listPartitionValues"):
        keys = hive.columns(*KEYS)
        request = hive.make("PartitionValuesRequest", dbName=database, tblName="t", partitionKeys=keys)
        rows = client.listPartitionValues(request).getPartitionValues()
        assert ["b", "9"] in [list(row.getRow()) for row in rows]
    with hive.attempt(group, "partitionNameToVals, partitionNameToSpec"):
        equal(client.partitionNameToVals(names[0]), ODD)
        equal(dict(client.partitionNameToSpec("ds=b/n=9")), {"ds": "b", "n": "9"})
    with hive.attempt(group, "validatePartitionNameCharacters"):
        client.validatePartitionNameCharacters(["plain"])


def _read_as_4(hive: Hive, database: str) -> None:
    group, client = "partitions", hive.client
    whole = {"dbName": database, "tblName": "t"}
    with hive.attempt(group, "requests of Hive 4"):
        partition_request = client.getPartitionRequest(hive.make("GetPartitionRequest", **whole, partVals=["b", "9"]))
        equal(list(partition_request.getPartition().getValues()), ["b", "9"])
        partition_request = client.getPartitionsRequest(hive.make("PartitionsRequest", **whole, maxParts=-1))
        equal(partition_request.getPartitions().size(), 6)
        request = hive.make("GetPartitionsPsWithAuthRequest", **whole, partVals=["b"], maxParts=-1)
        equal(client.listPartitionsWithAuthInfoRequest(request).getPartitions().size(), 3)
        request = hive.make("GetPartitionNamesPsRequest", **whole, partValues=["c"], maxParts=-1)
        equal(client.listPartitionNamesRequest(request).getNames().size(), 2)
        request = hive.make("GetPartitionsByNamesRequest", db_name=database, tbl_name="t", names=["ds=c/n=1"])
        equal(client.getPartitionsByNames(request).getPartitions().size(), 1)


def _alter(hive: Hive, database: str) -> None:
    group, client = "partitions", hive.client
    with hive.attempt(group, "alter_partition, alter_partitions"):
        some = client.listPartitions(database, "t", ["b"], -1)
        for number, each in enumerate(some):
            each.setParameters({"number": str(number)})
        client.alter_partition(database, "t", some[0], None)
        client.alter_partitions(database, "t", some, hive.make("EnvironmentContext"))
        actual = client.listPartitions(database, "t", ["b"], -1)
        equal([each.getParameters().get("number") for each in actual], ["0", "1", "2"])
    with hive.refused(group, "alter_partition of none", "InvalidOperationException"):
        client.alter_partition(database, "t", hive.partition(database, "t", "no", "0"), None)
    with hive.attempt(group, "renamePartition"):
        renamed = client.getPartition(database, "t", ["c", "2"])
        renamed.setValues(["c", "3"])
        client.renamePartition(database, "t", ["c", "2"], renamed)
        equal(client.listPartitionNames(database, "t", ["c"], -1), ["ds=c/n=1", "ds=c/n=3"])


def _mark(hive: Hive, database: str) -> None:
    with hive.attempt("partitions", "markPartitionForEvent, isPartitionMarkedForEvent"):
        kind, spec = hive.api.PartitionEventType.LOAD_DONE, {"ds": "b", "n": "9"}
        equal(hive.client.isPartitionMarkedForEvent(database, "t", spec, kind), False)
        hive.client.markPartitionForEvent(database, "t", spec, kind)
        equal(hive.client.isPartitionMarkedForEvent(database, "t", spec, kind), True)


def _drop(hive: Hive, database: str) -> None:
    group, client = "partitions", hive.client
    with hive.attempt(group, "dropPartition"):
        equal(client.dropPartition(database, "t", ["b", "9"], True), True)
        equal(client.dropPartition(database, "t", "ds=b/n=8", True), True)
        options = hive.metastore.PartitionDropOptions.instance().deleteData(True).ifExists(True)
        equal(client.dropPartition(database, "t", ["b", "10"], options), True)
        equal(client.listPartitionNames(database, "t", ["b"], -1), [])
    with hive.refused(group, "dropPartition of none", "NoSuchObjectException"):
        client.dropPartition(database, "t", ["no", "0"], True)
    if hive.version < (4, 2):
        with hive.refused(group, "dropPartitions by an expression that only Hive can read", "MetaException"):
            pairs = hive.gateway.jvm.java.util.ArrayList()
            pair = (
                hive.gateway.jvm.org.apache.commons.lang3.tuple.Pair.of
                if hive.is_4
                else hive.metastore.utils.ObjectPair
            )
            pairs.add(pair(1, b"rubbish"))
            client.dropPartitions(database, "t", pairs, True, True, True)
    if hive.version >= (4, 2):
        with hive.attempt(group, "dropPartitions by names"):
            names = hive.api.RequestPartsSpec.names(["ds=c/n=1"])
            options = hive.metastore.PartitionDropOptions.instance().returnResults(True)
            table = hive.gateway.jvm.org.apache.hadoop.hive.common.TableName("hive", database, "t")
            equal(values(client.dropPartitions(table, names, options, hive.make("EnvironmentContext"))), ["c/1"])
