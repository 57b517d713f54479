"""Indexes, which Hive removed in 3.0: an index of a table, and the table that holds it."""

from __future__ import annotations

from typing import Any

from tests.contract.recording import Recorder
from tests.contract.scenarios import scenario
from tests.wire.builders import columns, descriptor, table
from thrift_idl.gen.hive_metastore.ttypes import Index, Table

HANDLER = "org.apache.hadoop.hive.ql.index.compact.CompactIndexHandler"


def index(db: str, name: str | None = "i", of: str = "t", **fields: Any) -> Index:
    given = {
        "indexName": name,
        "indexHandlerClass": HANDLER,
        "dbName": db,
        "origTableName": of,
        "createTime": 0,
        "lastAccessTime": 0,
        "indexTableName": holder(db, name or "", of),
        "sd": descriptor(cols=columns(("a", "int")), compressed=False),
        "parameters": {"k": "v"},
        "deferredRebuild": True,
    }
    return Index(**given | fields)


def holder(db: str, name: str = "i", of: str = "t") -> str:
    """Returns Hive's name for the table of an index."""
    return f"{db}__{of}_{name}__"


def holding(db: str, name: str = "i", of: str = "t", **fields: Any) -> Table:
    return table(db, holder(db, name, of), tableType="INDEX_TABLE", **fields)


@scenario
def indexes_are_made_and_read(hive: Recorder, db: str) -> None:
    hive.create_table(table(db, "t"))
    hive.at("none").get_indexes(db, "t", -1)
    hive.at("none").get_index_names(db, "t", -1)
    hive.at("missing", says="index=nope not found").get_index_by_name(db, "t", "nope")
    hive.add_index(index(db, "Upper"), holding(db, "Upper"))
    hive.at("folded").get_index_by_name(db.upper(), "T", "UPPER")
    hive.get_table(db, holder(db, "upper"))
    hive.add_index(index(db, "b"), holding(db, "b"))
    for maximum in (-1, 0, 1):
        hive.at(str(maximum)).get_index_names(db, "T", maximum)
    hive.at("all", show=lambda actual: sorted(each.indexName for each in actual)).get_indexes(db, "t", 1)
    hive.at("tables").get_all_tables(db)
    hive.at("missing table").get_indexes(db, "nope", -1)
    hive.at("missing table").get_index_names("nowhere", "nope", -1)
    hive.at("missing table", says="nope.t index=b not found").get_index_by_name("nope", "t", "b")
    hive.files(f"{db}.db")


@scenario
def indexes_that_are_refused(hive: Recorder, db: str) -> None:
    hive.create_table(table(db, "t"))
    hive.create_table(holding(db, "taken"))
    hive.at("of nothing", says="do not exist").add_index(index(db, of="nope"), holding(db, of="nope"))
    hive.at("of no database", says="do not exist").add_index(index("nowhere"), holding(db))
    hive.at("table is there", says="index table already exists").add_index(index(db, "taken"), holding(db, "taken"))
    hive.add_index(index(db), holding(db))
    hive.at("there", says="Index already exists").add_index(index(db), holding(db))
    hive.at("another table", says="table").add_index(index(db, "other"), holding(db, "otherwise"))
    hive.at("no descriptor", says="Storage descriptor").add_index(index(db, "bare", sd=None), holding(db, "bare"))
    hive.at("null name").add_index(index(db, None), holding(db, "null"))
    hive.at("null table").add_index(index(db, "tableless"), None)
    hive.at("null index").add_index(None, holding(db, "indexless"))
    hive.at("after all").get_index_names(db, "t", -1)
    hive.at("after all").get_all_tables(db)


@scenario
def indexes_are_changed(hive: Recorder, db: str) -> None:
    hive.create_table(table(db, "t"))
    hive.add_index(index(db), holding(db))
    hive.alter_index(db, "T", "I", index(db, parameters={"x": "y"}, indexHandlerClass="other", deferredRebuild=False))
    hive.get_index_by_name(db, "t", "i")
    hive.at("missing", says="not found").alter_index(db, "t", "nope", index(db))
    hive.at("no descriptor", says="Storage descriptor").alter_index(db, "t", "i", index(db, sd=None))
    hive.at("of nothing", says="Original table").alter_index(db, "t", "i", index(db, of="nope"))
    hive.at("no table", says="Underlying").alter_index(db, "t", "i", index(db, indexTableName="nope"))
    hive.at("null").alter_index(db, "t", "i", None)
    changed = hive.call("get_table", (db, "t"))
    changed.tableName = "renamed"
    hive.alter_table(db, "t", changed)
    hive.at("renamed").get_index_by_name(db, "renamed", "i")
    hive.at("renamed").get_index_names(db, "t", -1)


@scenario
def indexes_are_dropped(hive: Recorder, db: str) -> None:
    hive.create_table(table(db, "t", [("ds", "string")]))
    for name in ("a", "b", "c", "d"):
        hive.call("add_index", (index(db, name), holding(db, name)))
        hive.put(f"{db}.db/{holder(db, name)}/part-0")
    hive.drop_index_by_name(db.upper(), "T", "A", True)
    hive.at("without data").drop_index_by_name(db, "t", "b", False)
    hive.at("again", says="not found").drop_index_by_name(db, "t", "a", True)
    hive.at("missing table", says="not found").drop_index_by_name(db, "nope", "a", True)
    hive.at("of an index", says="Please do drop index instead").drop_table(db, holder(db, "c"), True)
    hive.at("left").get_index_names(db, "t", -1)
    hive.at("left").get_all_tables(db)
    hive.files(f"{db}.db")
    hive.at("its indexes go, too").drop_table(db, "t", False)
    hive.at("gone").get_index_names(db, "t", -1)
    hive.at("gone").get_all_tables(db)
    hive.files(f"{db}.db")
    hive.at("anew").create_table(table(db, "t"))
    hive.at("anew").get_indexes(db, "t", -1)
    hive.at("anew").add_index(index(db, "c"), holding(db, "c"))
