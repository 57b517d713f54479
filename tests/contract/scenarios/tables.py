"""Tables: created, read, listed, dropped."""

from __future__ import annotations

from tests.contract.recording import Recorder
from tests.contract.scenarios import scenario
from tests.wire.builders import columns, descriptor, partition, skewed, table
from thrift_idl.gen.hive_metastore.ttypes import (
    EnvironmentContext,
    FieldSchema,
    GetTableRequest,
    GetTablesRequest,
    Order,
    SerDeInfo,
    StorageDescriptor,
    Table,
    TableMeta,
)

LAZY = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
QUIET = EnvironmentContext({"DO_NOT_UPDATE_STATS": "true"})


@scenario
def tables_are_made_and_read(hive: Recorder, db: str) -> None:
    rich = table(
        db,
        "Rich",
        [("Ds", "string"), ("n", "int")],
        parameters={"k": "v" * 3_000, "é": "日本", "comment": "c"},
        retention=7,
        lastAccessTime=0,
        sd=descriptor(
            cols=[FieldSchema("A", "int", "first"), FieldSchema("s", "struct<x:array<string>,Y:decimal(10,2)>", None)],
            bucketCols=["a"],
            sortCols=[Order("a", 1)],
            numBuckets=4,
            compressed=True,
            parameters={"p": "q"},
            serdeInfo=SerDeInfo("name", LAZY, {"field.delim": ",", "x": "\t"}),
        ),
    )
    hive.create_table(rich)
    hive.at("rich").get_table(db, "rich")
    hive.at("folded").get_table(db.upper(), "RICH")
    hive.get_fields(db, "rich")
    hive.get_schema(db, "rich")
    hive.get_table_req(GetTableRequest(db, "rich"))
    hive.get_table_objects_by_name(db, ["rich", "nope"])
    hive.get_table_objects_by_name_req(GetTablesRequest(db, ["RICH"]))
    hive.at("plain").create_table(table(db, "plain"))
    hive.at("plain").get_table(db, "plain")
    hive.at("again").create_table(table(db, "PLAIN"))
    hive.files(f"{db}.db")
    for names in ([], ["nope"], ["rich", "rich"]):
        hive.at(str(names)).get_table_objects_by_name(db, names)


@scenario
def tables_that_are_skewed(hive: Recorder, db: str) -> None:
    sent = table(db, "t", sd=descriptor(skewedInfo=skewed(["x"], [["1"], ["2"]]), storedAsSubDirectories=True))
    sent.sd.skewedInfo.skewedColValueLocationMaps = {("1",): "file:/x/x=1"}
    hive.create_table(sent)
    hive.get_table(db, "t")
    pair = table(db, "pair", [("ds", "string")], sd=descriptor(skewedInfo=skewed(["a", "x"], [["1", "y"], ["2", "z"]])))
    hive.create_table(pair)
    hive.at("pair").get_table(db, "pair")
    hive.add_partition(partition(db, "pair", ["d"], sd=pair.sd))
    hive.get_partition(db, "pair", ["d"])
    for label, names, values in (
        ("unknown column", ["nope"], [["1"]]),
        ("partition column", ["ds"], [["1"]]),
        ("column twice", ["a", "a"], [["1", "1"]]),
        ("wrong arity", ["a", "x"], [["1"]]),
        ("no values", ["a"], []),
        ("no columns", [], [["1"]]),
    ):
        name = label.replace(" ", "_")
        bad = table(db, name, [("ds", "string")], sd=descriptor(skewedInfo=skewed(names, values)))
        hive.at(label).create_table(bad)


@scenario
def tables_that_are_list_bucketed(hive: Recorder, db: str) -> None:
    by_day = [("ds", "string")]
    both = descriptor(skewedInfo=skewed(["a"], [["1"]]), storedAsSubDirectories=True, bucketCols=["x"], numBuckets=2)
    hive.at("buckets").create_table(table(db, "both", by_day, sd=both))
    untyped = descriptor(skewedInfo=skewed(["a"], [["01"], ["1"], ["2"]]), storedAsSubDirectories=True)
    hive.create_table(table(db, "t", by_day, sd=untyped))
    hive.at("01 and 1").get_table(db, "t")
    hive.at("default directory").add_partition(partition(db, "t", ["HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"], sd=untyped))
    for label, name, kind in (("renamed", "b", "int"), ("retyped", "a", "bigint")):
        changed = descriptor(skewedInfo=skewed(["a"], [["1"]]), storedAsSubDirectories=True)
        changed.cols = columns((name, kind), ("x", "string"))
        hive.at(label).alter_table(db, "t", table(db, "t", by_day, sd=changed))


@scenario
def tables_that_are_almost_empty(hive: Recorder, db: str) -> None:
    hive.at("no descriptor").create_table(Table(tableName="bare", dbName=db))
    hive.at("no columns").create_table(Table(tableName="columnless", dbName=db, sd=StorageDescriptor()))
    hive.at("no serde").create_table(Table(tableName="serdeless", dbName=db, sd=StorageDescriptor(cols=[])))
    least = StorageDescriptor(cols=[], serdeInfo=SerDeInfo())
    hive.at("least").create_table(Table(tableName="least", dbName=db, sd=least))
    hive.at("least").get_table(db, "least")
    hive.at("no type").create_table(table(db, "untyped", tableType=None))
    hive.at("no type").get_table(db, "untyped")
    keyless = table(db, "unparametrised", parameters=None)
    keyless.partitionKeys = None
    hive.at("no parameters").create_table(keyless)
    hive.at("no parameters").get_table(db, "unparametrised")
    hive.at("no name").create_table(table(db, None))
    hive.at("no database").create_table(table(None, "t"))


@scenario
def tables_that_are_malformed(hive: Recorder, db: str) -> None:
    for name in ("a b", "a.b", "a-b", "", " ", "new\nline", "é", "a'b"):
        hive.at(f"name {name!r}").create_table(table(db, name))
    for column in ("a b", "", "a.b", "é", "a:b", "a,b", "x" * 200):
        sd = descriptor(cols=columns((column, "int")))
        hive.at(f"column {column!r}").create_table(table(db, "t", sd=sd))
        hive.at(f"column {column!r}").drop_table(db, "t", True)
    for kind in ("integr", "", "array<int", "map<int>", "decimal(40,2)", "varchar", "struct<>", "INT", "Array<INT>"):
        hive.at(f"type {kind!r}").create_table(table(db, "t", sd=descriptor(cols=columns(("a", kind)))))
        hive.at(f"type {kind!r}").drop_table(db, "t", True)
    twice = descriptor(cols=columns(("a", "int"), ("A", "int")))
    hive.at("column twice").create_table(table(db, "t", sd=twice))
    hive.at("column twice").drop_table(db, "t", True)
    hive.at("key is a column").create_table(table(db, "t", [("a", "int")]))
    hive.at("key is a column").drop_table(db, "t", True)
    hive.at("bad key type").create_table(table(db, "t", [("k", "integr")]))
    hive.at("missing database").create_table(table("nowhere", "t"))
    hive.get_all_tables(db)


@scenario
def tables_and_what_is_external(hive: Recorder, db: str) -> None:
    """Trap 15: the parameter decides, not the type."""
    location = f"file:{hive.folder}/outside"
    hive.put("outside/file")
    external = {"EXTERNAL": "TRUE"}
    hive.at("true").create_table(table(db, "lower_case", parameters={"EXTERNAL": "true"}))
    hive.at("true").get_table(db, "lower_case")
    hive.at("both").create_table(
        table(db, "both", tableType="EXTERNAL_TABLE", parameters=external, sd=descriptor(location))
    )
    hive.at("both").get_table(db, "both")
    hive.at("type only").create_table(table(db, "type_only", tableType="EXTERNAL_TABLE"))
    hive.at("type only").get_table(db, "type_only")
    hive.at("parameter only").create_table(table(db, "parameter_only", parameters=external))
    changed = hive.at("parameter only").get_table(db, "parameter_only")
    changed.parameters["EXTERNAL"] = "FALSE"
    hive.at("to managed").alter_table(db, "parameter_only", changed)
    hive.at("to managed").get_table(db, "parameter_only")
    hive.at("both").drop_table(db, "both", True)
    hive.files("outside")
    purged = table(db, "purged", parameters={**external, "external.table.purge": "TRUE"}, sd=descriptor(location))
    hive.at("purged").create_table(purged)
    hive.at("purged").drop_table(db, "purged", True)
    hive.files("outside")


@scenario
def tables_get_statistics_from_their_files(hive: Recorder, db: str) -> None:
    """Trap 14."""
    for name, context in (("counted", None), ("uncounted", QUIET)):
        hive.put(f"{db}.db/{name}/file")
        hive.put(f"{db}.db/{name}/_hidden")
        hive.at(name).create_table_with_environment_context(table(db, name), context)
        hive.at(name).get_table(db, name)
    hive.put(f"{db}.db/half/file")
    hive.at("half of the counts").create_table(table(db, "half", parameters={"numFiles": "77"}))
    hive.at("half of the counts").get_table(db, "half")
    hive.at("fresh folder").create_table(table(db, "fresh"))
    hive.at("fresh folder").get_table(db, "fresh")
    hive.put(f"{db}.db/own/file")
    hive.at("own time and counts").create_table(
        table(db, "own", parameters={"transient_lastDdlTime": "5", "numFiles": "77", "totalSize": "8"})
    )
    hive.at("own time and counts").get_table(db, "own")


def by_name(actual: list[TableMeta]) -> list[TableMeta]:
    """Returns tables in a fixed order, because their order is not defined."""
    return sorted(actual, key=lambda each: (each.dbName, each.tableName))


@scenario
def tables_are_listed(hive: Recorder, db: str) -> None:
    for name in ("b", "a", "ab", "Upper"):
        hive.create_table(table(db, name, parameters={"comment": name, "p": name}))
    hive.create_table(table(db, "v", tableType="VIRTUAL_VIEW", viewOriginalText="x", viewExpandedText="x"))
    hive.get_all_tables(db)
    hive.at("unknown database").get_all_tables("nowhere")
    for pattern in ("*", ".*", None, "", "a*", "A*", "a|b", "a.", "nope", "*b"):
        hive.at(f"{pattern!r}").get_tables(db, pattern)
        hive.at(f"{pattern!r}", show=by_name).get_table_meta(db, pattern, [])
    for kind in ("VIRTUAL_VIEW", "MANAGED_TABLE", "EXTERNAL_TABLE", "nonsense", None, ""):
        hive.at(f"{kind!r}").get_tables_by_type(db, "*", kind)
        hive.at(f"type {kind!r}", show=by_name).get_table_meta(db, "*", [kind] if kind is not None else None)
    hive.at("databases", show=by_name).get_table_meta(db[:-1] + "*", "a", [])
    hive.at("unknown database").get_tables("nowhere", "*")
    hive.at("unknown database", show=by_name).get_table_meta("nowhere", "*", [])
    hive.at("no pattern").get_tables_by_type(db, None, "VIRTUAL_VIEW")


@scenario
def tables_are_found_by_filter(hive: Recorder, db: str) -> None:
    for name in ("b", "a", "ab"):
        hive.create_table(table(db, name, parameters={"p": name, "q": "x"}, owner="me" if name == "a" else "you"))
    owner, access, parameter = (f"hive_filter_field_{value}__" for value in ("owner", "last_access", "params"))
    for text in (
        f'{owner} = "me"',
        f'{owner} like "m.*"',
        f'{owner} != "me"',
        f'{parameter}p = "ab"',
        f'{parameter}p like "a%"',
        f'{parameter}p like "a.*"',
        f'{parameter}p != "ab"',
        f'{parameter}nope = "ab"',
        f'{parameter}p = "a" or {parameter}p = "b"',
        f'{parameter}p = "a" and {owner} = "you"',
        f"{access} = 0",
        f"{access} > 0",
        "nonsense = 1",
        f"{owner} = ",
        "",
    ):
        hive.at(text, show=sorted).get_table_names_by_filter(db, text, -1)
    for limit in (0, 1, 2, -1, 32_767):
        hive.at(f"limit {limit}", show=len).get_table_names_by_filter(db, f'{parameter}q = "x"', limit)
    hive.at("unknown database").get_table_names_by_filter("nowhere", f'{owner} = "me"', -1)


@scenario
def tables_are_dropped(hive: Recorder, db: str) -> None:
    hive.at("missing").drop_table(db, "nope", True)
    hive.at("missing database").drop_table("nowhere", "t", True)
    for name, data in (("with_data", True), ("without_data", False)):
        hive.create_table(table(db, name, [("ds", "string")]))
        hive.put(f"{db}.db/{name}/ds=1/file")
        hive.put("away/file")
        hive.add_partition(partition(db, name, ["1"]))
        hive.add_partition(partition(db, name, ["2"], sd=descriptor(f"file:{hive.folder}/away")))
        hive.at(name).drop_table_with_environment_context(db, name, data, EnvironmentContext({}))
        hive.files(f"{db}.db")
        hive.files("away")
        hive.at(name).get_table(db, name)
        hive.at(f"{name} again").drop_table(db, name, True)


@scenario
def tables_that_are_missing(hive: Recorder, db: str) -> None:
    """Trap 19: the error that each method raises."""
    for database in (db, "nowhere"):
        hive.at(database).get_table(database, "nope")
        hive.at(database).get_fields(database, "nope")
        hive.at(database).get_schema(database, "nope")
        hive.at(database).get_table_objects_by_name(database, ["nope"])
        hive.at(database).get_table_objects_by_name_req(GetTablesRequest(database, ["nope"]))
        hive.at(database).get_table_req(GetTableRequest(database, "nope"))
        hive.at(database).alter_table(database, "nope", table(database, "nope"))
        hive.at(database).drop_table(database, "nope", False)
    hive.at("no names").get_table(None, None)
    hive.at("no database").get_table(None, "t")
    hive.at("no table").get_table(db, None)
    hive.at("empty names").get_table("", "")
    hive.at("no database").get_table_objects_by_name(None, ["t"])
    hive.at("empty database").get_table_objects_by_name("", ["t"])
    hive.at("no list").get_table_objects_by_name(db, None)
