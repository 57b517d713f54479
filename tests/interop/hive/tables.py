"""Tables, views, their fields."""

from __future__ import annotations

from pathlib import Path

from tests.interop.hive.client import Hive, equal
from tests.wire.builders import unique

GROUP = "tables"


def tables(hive: Hive, folder: Path) -> None:
    """Creates, finds in every way, changes and drops tables."""
    with hive.database(unique("tables")) as database:
        _create(hive, database, folder)
        _find(hive, database)
        if hive.is_4:
            _find_as_4(hive, database)
        _alter(hive, database)
        _drop(hive, database)


def _create(hive: Hive, database: str, folder: Path) -> None:
    client = hive.client
    with hive.attempt(GROUP, "createTable"):
        client.createTable(hive.table(database, "First", ("ds", "string")))
    with hive.attempt(GROUP, "createTable, external"):
        table = hive.table(database, "outside", tableType="EXTERNAL_TABLE", parameters={"EXTERNAL": "TRUE"})
        table.getSd().setLocation(f"file:{folder}/outside")
        client.createTable(table)
        equal(client.getTable(database, "outside").getTableType(), "EXTERNAL_TABLE")
    with hive.attempt(GROUP, "createTable, a view"):
        texts = {"viewOriginalText": "SELECT 1", "viewExpandedText": "SELECT 1"}
        client.createTable(hive.table(database, "seen", tableType="VIRTUAL_VIEW", **texts))
        equal(client.getTable(database, "seen").getViewExpandedText(), "SELECT 1")
    with hive.refused(GROUP, "createTable of one that is there", "AlreadyExistsException", "first"):
        client.createTable(hive.table(database, "first"))
    with hive.refused(GROUP, "createTable in no database", "InvalidObjectException"):
        client.createTable(hive.table("nowhere", "first"))
    with hive.refused(GROUP, "createTable without columns or a name", "InvalidObjectException"):
        client.createTable(hive.table(database, ""))
    with hive.attempt(GROUP, "createTable, skewed"):
        table = hive.table(database, "skewed")
        skew = {"skewedColNames": ["a"], "skewedColValues": [["1"], ["2"]]}
        places = {"skewedColValueLocationMaps": {}}
        table.getSd().setSkewedInfo(hive.make("SkewedInfo", **skew, **places))
        client.createTable(table)
        skewed_info = client.getTable(database, "skewed").getSd().getSkewedInfo()
        equal([list(skewed_col_value) for skewed_col_value in skewed_info.getSkewedColValues()], [["1"], ["2"]])


def _find(hive: Hive, database: str) -> None:
    client = hive.client
    with hive.attempt(GROUP, "getTable"):
        stored_table = client.getTable(database.upper(), "FIRST")
        equal(
            (stored_table.getTableName(), stored_table.getDbName(), stored_table.getCatName()),
            ("first", database, "hive"),
        )
        equal([partition_key.getName() for partition_key in stored_table.getPartitionKeys()], ["ds"])
        equal(stored_table.getParameters().get("k"), "v")
    with hive.refused(GROUP, "getTable of none", "NoSuchObjectException", f"{database}.none table not found"):
        client.getTable(database, "none")
    with hive.attempt(GROUP, "tableExists"):
        equal((client.tableExists(database, "first"), client.tableExists(database, "none")), (True, False))
    with hive.attempt(GROUP, "getTables"):
        equal(client.getTables(database, "f*|seen"), ["first", "seen"])
    with hive.attempt(GROUP, "getTables by type"):
        kinds = hive.metastore.TableType
        equal(client.getTables(database, "*", kinds.VIRTUAL_VIEW), ["seen"])
        equal(client.getTables(database, "*", kinds.EXTERNAL_TABLE), ["outside"])
    with hive.attempt(GROUP, "getAllTables"):
        equal(client.getAllTables(database), ["first", "outside", "seen", "skewed"])
        equal(client.getAllTables("nowhere"), [])
    with hive.attempt(GROUP, "getTableMeta"):
        stored_table = client.getTableMeta(database, "*", ["VIRTUAL_VIEW", "EXTERNAL_TABLE"])
        equal([each.getTableName() for each in stored_table], ["outside", "seen"])
    with hive.attempt(GROUP, "getTableObjectsByName"):
        stored_table = client.getTableObjectsByName(database, ["seen", "none", "first"])
        equal(sorted(each.getTableName() for each in stored_table), ["first", "seen"])
    with hive.attempt(GROUP, "listTableNamesByFilter"):
        text = 'hive_filter_field_params__k = "v" and hive_filter_field_owner__ like "m."'
        equal(client.listTableNamesByFilter(database, text, -1), ["first", "seen", "skewed"])
        equal(client.listTableNamesByFilter(database, text, 1), ["first"])
    with hive.attempt(GROUP, "getFields, getSchema"):
        equal([field.getName() for field in client.getFields(database, "first")], ["a", "x"])
        equal([each.getName() for each in client.getSchema(database, "first")], ["a", "x", "ds"])
    with hive.attempt(GROUP, "getMaterializedViewsForRewriting"):
        if hive.is_4:
            equal(client.getMaterializedViewsForRewriting(database), [])
            equal(client.getAllMaterializedViewObjectsForRewriting(), [])


def _find_as_4(hive: Hive, database: str) -> None:
    client = hive.client
    with hive.attempt(GROUP, "getTables with a projection"):
        projection = hive.make("GetProjectionsSpec", fieldList=["tableName", "sd.location"])
        actual_tables = client.getTables("hive", database, ["first", "none"], projection)
        equal([each.getTableName() for each in actual_tables], ["first"])
        assert actual_tables[0].getSd().getLocation().endswith("/first")
    with hive.attempt(GROUP, "getTablesExt"):
        actual_tables = client.getTablesExt("hive", database, "*", 0, 10)
        equal([each.getTblName() for each in actual_tables], ["first", "outside", "seen", "skewed"])
    with hive.attempt(GROUP, "getTranslateTableDryrun"):
        equal(client.getTranslateTableDryrun(hive.table(database, "maybe")).getTableName(), "maybe")
        equal(client.tableExists(database, "maybe"), False)
    with hive.attempt(GROUP, "getTable with statistics"):
        equal(client.getTable(database, "first", True, "hive").getTableName(), "first")
    with hive.attempt(GROUP, "getFieldsRequest, getSchemaRequest"):
        fields = {"catName": "hive", "dbName": database, "tblName": "first"}
        equal(client.getFieldsRequest(hive.make("GetFieldsRequest", **fields)).getFields().size(), 2)
        equal(client.getSchemaRequest(hive.make("GetSchemaRequest", **fields)).getFields().size(), 3)


def _alter(hive: Hive, database: str) -> None:
    client = hive.client
    with hive.attempt(GROUP, "alter_table"):
        table = client.getTable(database, "skewed")
        table.getSd().setCols(hive.columns(("a", "int"), ("x", "string"), ("y", "double")))
        table.setParameters({"k": "w"})
        client.alter_table(database, "skewed", table)
        stored_table = client.getTable(database, "skewed")
        equal((stored_table.getSd().getCols().size(), stored_table.getParameters().get("k")), (3, "w"))
    with hive.attempt(GROUP, "alter_table, a new name"):
        table = client.getTable(database, "skewed")
        table.setTableName("renamed")
        client.alter_table(database, "skewed", table)
        assert client.getTable(database, "renamed").getSd().getLocation().endswith("/renamed")
    with hive.refused(GROUP, "alter_table to a name that is taken", "InvalidOperationException", "already exists"):
        table = client.getTable(database, "renamed")
        table.setTableName("first")
        client.alter_table(database, "renamed", table)
    with hive.refused(GROUP, "alter_table of none", "InvalidOperationException"):
        client.alter_table(database, "none", hive.table(database, "none"))
    context = hive.make("EnvironmentContext")
    context.setProperties({"expected_parameter_key": "k", "expected_parameter_value": "w"})
    table = client.getTable(database, "renamed")
    with hive.attempt(GROUP, "alter_table_with_environmentContext, compare and swap"):
        table.setParameters({"k": "x"})
        client.alter_table_with_environmentContext(database, "renamed", table, context)
    with hive.refused(GROUP, "the same swap again", "MetaException", "The table has been modified"):
        client.alter_table_with_environmentContext(database, "renamed", table, context)
    with hive.attempt(GROUP, "truncateTable"):
        client.truncateTable(database, "renamed", [])


def _drop(hive: Hive, database: str) -> None:
    client = hive.client
    with hive.attempt(GROUP, "dropTable"):
        client.dropTable(database, "first")
        client.dropTable(database, "renamed", True, False)
        client.dropTable(database, "outside", False, False, True)
        equal(client.getAllTables(database), ["seen"])
    with hive.refused(GROUP, "dropTable of none", "NoSuchObjectException"):
        client.dropTable(database, "first", True, False)
    with hive.attempt(GROUP, "dropTable of none, if it is there"):
        client.dropTable(database, "first", True, True)
