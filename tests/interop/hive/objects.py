"""Functions, column statistics, constraints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.interop.hive.client import Hive, equal
from tests.wire.builders import unique

BITS = bytes(range(256))


def functions(hive: Hive, _: Path) -> None:
    """Creates, finds, changes and drops functions."""
    group, client = "functions", hive.client
    with hive.database(unique("functions")) as database:
        with hive.attempt(group, "createFunction"):
            uri = hive.make("ResourceUri", uri="file:/a.jar")
            uri.setResourceType(hive.api.ResourceType.JAR)
            names = {"functionName": "Up", "dbName": database, "className": "org.example.Up", "ownerName": "me"}
            function = hive.make("Function", **names, resourceUris=[uri])
            function.setOwnerType(hive.api.PrincipalType.USER)
            function.setFunctionType(hive.api.FunctionType.JAVA)
            client.createFunction(function)
        with hive.refused(group, "createFunction of one that is there", "AlreadyExistsException"):
            client.createFunction(function)
        with hive.attempt(group, "getFunction"):
            actual_function = client.getFunction(database, "UP")
            equal((actual_function.getClassName(), actual_function.getResourceUris().size()), ("org.example.Up", 1))
        with hive.refused(group, "getFunction of none", "NoSuchObjectException"):
            client.getFunction(database, "none")
        with hive.attempt(group, "getFunctions, getAllFunctions"):
            equal(client.getFunctions(database, "u*"), ["up"])
            actual_function = client.getAllFunctions().getFunctions()
            assert (database, "up") in [(each.getDbName(), each.getFunctionName()) for each in actual_function]
        if hive.is_4:
            with hive.attempt(group, "getFunctionsRequest"):
                request = hive.make("GetFunctionsRequest", dbName=database, pattern="*", returnNames=False)
                actual_function = client.getFunctionsRequest(request).getFunctions()
                equal([each.getFunctionName() for each in actual_function], ["up"])
        with hive.attempt(group, "alterFunction"):
            function.setClassName("org.example.Down")
            client.alterFunction(database, "up", function)
            equal(client.getFunction(database, "up").getClassName(), "org.example.Down")
        with hive.attempt(group, "dropFunction"):
            client.dropFunction(database, "up")
            equal(client.getFunctions(database, "*"), [])
        with hive.refused(group, "dropFunction of none", "NoSuchObjectException"):
            client.dropFunction(database, "up")


def column_statistics(hive: Hive, _: Path) -> None:
    """Statistics of a table and of partitions: aggregated, merged, deleted."""
    group, client = "column statistics", hive.client
    engine = ["hive"] if hive.is_4 else []  # since Hive 4, each engine has its own
    with hive.database(unique("stats")) as database:
        client.createTable(hive.table(database, "t", ("ds", "string")))
        client.add_partitions([hive.partition(database, "t", text) for text in "xy"])
        with hive.attempt(group, "updateTableColumnStatistics"):
            equal(client.updateTableColumnStatistics(_statistics(hive, database, None, 1, 7)), True)
        with hive.attempt(group, "getTableColumnStatistics"):
            table_column_statistics = client.getTableColumnStatistics(database, "t", ["a", "x"], *engine)
            equal([each.getColName() for each in table_column_statistics], ["a"])
            data = table_column_statistics[0].getStatsData().getLongStats()
            equal((data.getLowValue(), data.getHighValue(), bytes(data.getBitVectors())), (1, 7, BITS))
        with hive.attempt(group, "updatePartitionColumnStatistics, setPartitionColumnStatistics"):
            client.updatePartitionColumnStatistics(_statistics(hive, database, "ds=x", 0, 3))
            request = hive.make("SetPartitionsStatsRequest", colStats=[_statistics(hive, database, "ds=y", 5, 9)])
            client.setPartitionColumnStatistics(request)
        with hive.attempt(group, "getPartitionColumnStatistics"):
            table_column_statistics = client.getPartitionColumnStatistics(
                database, "t", ["ds=x", "ds=y"], ["a"], *engine
            )
            highs = {
                name: each[0].getStatsData().getLongStats().getHighValue()
                for name, each in table_column_statistics.items()
            }
            equal(highs, {"ds=x": 3, "ds=y": 9})
        with hive.attempt(group, "getAggrColStatsFor"):
            table_column_statistics = client.getAggrColStatsFor(database, "t", ["a"], ["ds=x", "ds=y"], *engine)
            data = table_column_statistics.getColStats()[0].getStatsData().getLongStats()
            equal((data.getLowValue(), data.getHighValue(), table_column_statistics.getPartsFound()), (0, 9, 2))
        with hive.attempt(group, "deletion"):
            _delete(hive, database, "ds=x")
            _delete(hive, database, None)
            equal(client.getTableColumnStatistics(database, "t", ["a"], *engine), [])
            left = client.getPartitionColumnStatistics(database, "t", ["ds=x", "ds=y"], ["a"], *engine)
            equal(sorted(left), ["ds=y"])


def _delete(hive: Hive, database: str, partition: str | None) -> None:
    if not hive.is_4:
        if partition:
            hive.client.deletePartitionColumnStatistics(database, "t", partition, "a")
        else:
            hive.client.deleteTableColumnStatistics(database, "t", "a")
        return
    request = hive.make("DeleteColumnStatisticsRequest", db_name=database, tbl_name="t", col_names=["a"], engine="hive")
    if partition:
        request.setPart_names([partition])
    else:
        request.setTableLevel(True)
    hive.client.deleteColumnStatistics(request)


def _statistics(hive: Hive, database: str, partition: str | None, low: int, high: int) -> Any:
    described = hive.make("ColumnStatisticsDesc", isTblLevel=partition is None, dbName=database, tableName="t")
    if partition:
        described.setPartName(partition)
    data = hive.make("LongColumnStatsData", lowValue=low, highValue=high, numNulls=0, numDVs=3, bitVectors=BITS)
    column = hive.make("ColumnStatisticsObj", colName="a", colType="int")
    column.setStatsData(hive.api.ColumnStatisticsData.longStats(data))
    statistics = hive.make("ColumnStatistics", statsDesc=described, statsObj=[column])
    if hive.is_4:
        statistics.setEngine("hive")
    return statistics


def constraints(hive: Hive, _: Path) -> None:
    """All kinds of constraints: created with the table or later, read, dropped."""
    group, client = "constraints", hive.client
    with hive.database(unique("constraints")) as database:
        names = {"catName": "hive", "table_db": database, "table_name": "child"}
        key = {"column_name": "a", "enable_cstr": True, "validate_cstr": False, "rely_cstr": True}

        def default() -> Any:
            fields = {"column_name": "x", "default_value": "'d'", "dc_name": "has_default"}
            return hive.make("SQLDefaultConstraint", **{**names, **key, **fields})

        with hive.attempt(group, "createTableWithConstraints"):
            parent = {**names, "table_name": "parent"}
            primary = hive.make("SQLPrimaryKey", **{**parent, **key}, key_seq=1, pk_name="parents")
            empty = [[] for _ in range(5)]
            client.createTableWithConstraints(hive.table(database, "parent"), [primary], *empty)
            client.createTable(hive.table(database, "child"))
        with hive.attempt(group, "addPrimaryKey"):
            client.addPrimaryKey([hive.make("SQLPrimaryKey", **names, **key, key_seq=1, pk_name="own")])
            client.dropConstraint(database, "child", "own")
        with hive.attempt(group, "addForeignKey"):
            child = {"catName": "hive", "fktable_db": database, "fktable_name": "child", "fkcolumn_name": "a"}
            whole = {"pktable_db": database, "pktable_name": "parent", "pkcolumn_name": "a", "key_seq": 1}
            named = {"fk_name": "children", "pk_name": "parents", "enable_cstr": True}
            client.addForeignKey([hive.make("SQLForeignKey", **child, **whole, **named)])
        with hive.attempt(group, "addUniqueConstraint, addNotNullConstraint"):
            client.addUniqueConstraint([hive.make("SQLUniqueConstraint", **names, **key, key_seq=1, uk_name="u")])
            client.addNotNullConstraint([hive.make("SQLNotNullConstraint", **names, **key, nn_name="n")])
        with hive.attempt(group, "addDefaultConstraint, addCheckConstraint"):
            client.addDefaultConstraint([default()])
            check = hive.make("SQLCheckConstraint", **names, **key, check_expression="a > 0", dc_name="positive")
            client.addCheckConstraint([check])
        _read_constraints(hive, database)
        with hive.attempt(group, "dropConstraint"):
            client.dropConstraint(database, "child", "children")
        with hive.refused(group, "dropConstraint of none", "TApplicationException"):
            client.dropConstraint(database, "child", "children")


def _read_constraints(hive: Hive, database: str) -> None:
    group, client = "constraints", hive.client
    with hive.attempt(group, "getPrimaryKeys, getForeignKeys"):
        request = hive.make("PrimaryKeysRequest", db_name=database, tbl_name="parent", catName="hive")
        equal([primary_key.getPk_name() for primary_key in client.getPrimaryKeys(request)], ["parents"])
        child = {"foreign_db_name": database, "foreign_tbl_name": "child", "catName": "hive"}
        request = hive.make("ForeignKeysRequest", **child)
        equal([foreign_key.getFk_name() for foreign_key in client.getForeignKeys(request)], ["children"])
    names = {"catName": "hive", "db_name": database, "tbl_name": "child"}
    with hive.attempt(group, "getUniqueConstraints, getNotNullConstraints"):
        unique_constraints = client.getUniqueConstraints(hive.make("UniqueConstraintsRequest", **names))
        equal([each.getUk_name() for each in unique_constraints], ["u"])
        unique_constraints = client.getNotNullConstraints(hive.make("NotNullConstraintsRequest", **names))
        equal([each.getNn_name() for each in unique_constraints], ["n"])
    with hive.attempt(group, "getDefaultConstraints, getCheckConstraints"):
        unique_constraints = client.getDefaultConstraints(hive.make("DefaultConstraintsRequest", **names))
        equal([(each.getDc_name(), each.getDefault_value()) for each in unique_constraints], [("has_default", "'d'")])
        unique_constraints = client.getCheckConstraints(hive.make("CheckConstraintsRequest", **names))
        equal([(each.getDc_name(), each.getCheck_expression()) for each in unique_constraints], [("positive", "a > 0")])
    if hive.is_4:
        with hive.attempt(group, "getAllTableConstraints"):
            request = hive.make("AllTableConstraintsRequest", catName="hive", dbName=database, tblName="child")
            unique_constraints = client.getAllTableConstraints(request)
            equal((unique_constraints.getForeignKeys().size(), unique_constraints.getCheckConstraints().size()), (1, 1))
