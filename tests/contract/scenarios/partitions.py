"""Partitions: added, read, dropped, in every form that Hive 2.3 has."""

from __future__ import annotations

from tests.contract.recording import Recorder
from tests.contract.scenarios import scenario
from tests.wire.builders import descriptor, partition, table
from thrift_idl.gen.hive_metastore.ttypes import (
    AddPartitionsRequest,
    DropPartitionsRequest,
    EnvironmentContext,
    Partition,
    RequestPartsSpec,
)

KEYS = [("ds", "string"), ("n", "int")]
EXISTS = "Partition already exists"


def by_values(partitions: list[Partition]) -> list[Partition]:
    """Returns partitions in a fixed order, because their order is not defined."""
    return sorted(partitions, key=lambda each: each.values)


def filled(hive: Recorder, db: str, *rows: tuple[str, str]) -> None:
    hive.create_table(table(db, "t", KEYS))
    given = rows or tuple((day, number) for day in ("b", "a") for number in ("10", "2", "1"))
    hive.add_partitions([partition(db, "t", row) for row in given])


@scenario
def partitions_are_added(hive: Recorder, db: str) -> None:
    hive.create_table(table(db, "t", KEYS, sd=descriptor(parameters={"p": "q"})))
    hive.add_partition(partition(db, "t", ["a", "1"], parameters={"k": "v"}))
    hive.add_partition_with_environment_context(partition(db, "t", ["a", "2"]), EnvironmentContext(None))
    hive.at("count").add_partitions([partition(db, "t", ["a", n]) for n in ("3", "4")])
    hive.at("empty").add_partitions([])
    request = AddPartitionsRequest(db, "t", [partition(db, "t", ["b", n]) for n in ("1", "2")], ifNotExists=False)
    hive.at("new").add_partitions_req(request)
    request = AddPartitionsRequest(db, "t", [partition(db, "t", ["b", n]) for n in ("2", "3")], ifNotExists=True)
    hive.at("some there").add_partitions_req(request)
    request = AddPartitionsRequest(db, "t", [partition(db, "t", ["c", "1"])], ifNotExists=True, needResult=False)
    hive.at("no result").add_partitions_req(request)
    hive.at("no list").add_partitions_req(AddPartitionsRequest(db, "t", [], ifNotExists=True))
    hive.get_partitions(db, "t", -1)
    hive.at("by values").append_partition(db, "t", ["d", "1"])
    hive.at("by name").append_partition_by_name(db, "t", "n=2/ds=d")
    context = EnvironmentContext({})
    hive.append_partition_with_environment_context(db, "t", ["d", "3"], context)
    hive.append_partition_by_name_with_environment_context(db, "t", "ds=d/n=4", context)
    hive.get_partition_names(db, "t", -1)
    hive.files(f"{db}.db")
    bare = partition(db, "t", ["no columns", "1"])
    bare.sd.cols = None
    hive.at("no columns").add_partition(bare)
    hive.at("no columns").get_partition(db, "t", ["no columns", "1"])


@scenario
def partitions_that_are_refused(hive: Recorder, db: str) -> None:
    filled(hive, db)
    hive.create_table(table(db, "flat"))
    for label, values in (("none", []), ("few", ["a"]), ("many", ["a", "1", "2"]), ("no list", None)):
        hive.at(label).add_partition(Partition(values=values, dbName=db, tableName="t", sd=descriptor(), parameters={}))
        hive.at(label).append_partition(db, "t", values)
        hive.at(label).add_partitions(
            [Partition(values=values, dbName=db, tableName="t", sd=descriptor(), parameters={})]
        )
    hive.at("there", says=EXISTS).add_partition(partition(db, "t", ["a", "1"]))
    hive.at("there", says=EXISTS).append_partition(db, "t", ["a", "1"])
    hive.at("one is there").add_partitions([partition(db, "t", [day, "1"]) for day in ("c", "a")])
    hive.at("missing table").add_partition(partition(db, "nope", ["a", "1"]))
    hive.at("missing database").add_partition(partition("nowhere", "t", ["a", "1"]))
    hive.at("missing table").append_partition(db, "nope", ["a", "1"])
    hive.at("missing table").add_partitions([partition(db, "nope", ["a", "1"])])
    hive.at("flat table").add_partition(partition(db, "flat", ["a"]))
    hive.at("flat table").append_partition(db, "flat", ["a"])
    hive.at("no table").add_partition(Partition(values=["x", "1"], sd=descriptor(), parameters={}))
    hive.at("other table").add_partitions([partition(db, "t", ["v", "1"]), partition(db, "flat", ["v", "1"])])
    # Hive may or may not leave a directory behind here: it creates them in threads.
    twice = [partition(db, "t", ["w", "1"]), partition(db, "t", ["w", "1"])]
    hive.at("twice").add_partitions(twice)
    hive.at("twice").add_partitions_req(AddPartitionsRequest(db, "t", twice, ifNotExists=True))
    for name in ("", "ds=x", "x", "ds=x/n=1/z=2", "ds=/n=1", "DS=up/N=5", "ds=a%2Fb/n=1"):
        hive.at(repr(name)).append_partition_by_name(db, "t", name)
    hive.get_partition_names(db, "t", -1)


@scenario
def partitions_with_odd_values(hive: Recorder, db: str) -> None:
    """Trap 11: names are escaped as by Hive's FileUtils."""
    hive.create_table(table(db, "t", [("ds", "string")]))
    odd = (
        "a b",
        "a/b",
        "x=y",
        "é",
        "日本",
        "100%",
        "a:b",
        "'",
        '"',
        "#",
        "*",
        "?",
        "\\",
        "{",
        "}",
        "[",
        "]",
        "^",
        "\t",
    )
    odd += ("\x7f", "~", "|", "+", "&", "a%2Fb", "-1", "", "__HIVE_DEFAULT_PARTITION__", " ", "A", "a", ".", "..")
    for value in odd:
        hive.at(repr(value)).add_partition(partition(db, "t", [value]))
        hive.at(repr(value)).get_partition(db, "t", [value])
    for name in hive.get_partition_names(db, "t", -1) or []:
        hive.at(name).get_partition_by_name(db, "t", name)
        hive.at(name).partition_name_to_vals(name)
        hive.at(name).partition_name_to_spec(name)
    for value in odd:
        hive.at(repr(value), show=sorted).get_partition_names_ps(db, "t", [value], -1)
    hive.files(f"{db}.db/t")


@scenario
def partitions_are_read(hive: Recorder, db: str) -> None:
    filled(hive, db)
    for limit in (-1, 0, 1, 3, 32_767, -2):
        hive.at(f"limit {limit}").get_partitions(db, "t", limit)
        hive.at(f"limit {limit}").get_partition_names(db, "t", limit)
        hive.at(f"limit {limit}").get_partitions_with_auth(db, "t", limit, "me", ["us"])
        hive.at(f"limit {limit}", show=len).get_partitions_ps(db, "t", ["a"], limit)
        hive.at(f"limit {limit}", show=len).get_partition_names_ps(db, "t", ["a"], limit)
        hive.at(f"limit {limit}", show=len).get_partitions_ps_with_auth(db, "t", ["a"], limit, "me", [])
        hive.at(f"limit {limit}", show=len).get_partitions_by_filter(db, "t", "ds = 'a'", limit)
    for values in (
        ["a"],
        ["a", ""],
        ["", "1"],
        ["", ""],
        [],
        ["a", "1"],
        ["zz"],
        ["a", "1", "x"],
        ["A"],
        ["a%"],
        ["_"],
    ):
        hive.at(str(values), show=by_values).get_partitions_ps(db, "t", values, -1)
        hive.at(str(values), show=sorted).get_partition_names_ps(db, "t", values, -1)
        hive.at(str(values), show=by_values).get_partitions_ps_with_auth(db, "t", values, -1, None, None)
        hive.at(str(values)).get_partition(db, "t", values)
    for names in (["ds=a/n=1", "ds=b/n=2"], ["ds=b/n=2", "ds=a/n=1"], ["nope"], [], ["ds=a/n=1", "nope"], ["n=1/ds=a"]):
        hive.at(str(names), show=by_values).get_partitions_by_names(db, "t", names)
    for name in ("ds=a/n=1", "n=1/ds=a", "DS=a/N=1", "ds=a", "ds=a/n=1/x=2", "", "ds=a/n=01", "ds=A/n=1", "nope"):
        hive.at(repr(name)).get_partition_by_name(db, "t", name)
    hive.get_partition_with_auth(db, "t", ["a", "1"], "me", ["us"])
    hive.at("folded").get_partition(db.upper(), "T", ["a", "1"])


@scenario
def partitions_of_missing_tables(hive: Recorder, db: str) -> None:
    """Trap 20: an unknown table has no names."""
    hive.create_table(table(db, "flat"))
    for where in ((db, "nope"), ("nowhere", "t"), (db, "flat")):
        label = ".".join(where)
        hive.at(label).get_partition_names(*where, -1)
        hive.at(label).get_partition_names_ps(*where, ["a"], -1)
        hive.at(label).get_partitions(*where, -1)
        hive.at(label).get_partitions_with_auth(*where, -1, "me", [])
        hive.at(label).get_partitions_ps(*where, ["a"], -1)
        hive.at(label).get_partitions_ps_with_auth(*where, ["a"], -1, "me", [])
        hive.at(label).get_partition(*where, ["a"])
        hive.at(label).get_partition_with_auth(*where, ["a"], "me", [])
        hive.at(label).get_partition_by_name(*where, "ds=a")
        hive.at(label).get_partitions_by_names(*where, ["ds=a"])
        hive.at(label).get_partitions_by_filter(*where, "ds = 'a'", -1)
        hive.at(label).get_num_partitions_by_filter(*where, "ds = 'a'")
        hive.at(label).drop_partition(*where, ["a"], True)
        hive.at(label).drop_partition_by_name(*where, "ds=a", True)
        hive.at(label).drop_partitions_req(DropPartitionsRequest(*where, RequestPartsSpec(names=["ds=a"])))
        hive.at(label).alter_partition(*where, partition(*where, ["a"]))
        hive.at(label).alter_partitions(*where, [partition(*where, ["a"])])
        hive.at(label).rename_partition(*where, ["a"], partition(*where, ["b"]))
        hive.at(label).append_partition_by_name(*where, "ds=a")


@scenario
def partitions_are_dropped(hive: Recorder, db: str) -> None:
    filled(hive, db)
    for row in ("ds=a/n=1", "ds=a/n=2", "ds=b/n=1"):
        hive.put(f"{db}.db/t/{row}/data")
    hive.at("with data").drop_partition(db, "t", ["a", "1"], True)
    hive.at("without data").drop_partition(db, "t", ["a", "2"], False)
    hive.at("again").drop_partition(db, "t", ["a", "1"], True)
    hive.at("by name").drop_partition_by_name(db, "t", "n=1/ds=b", True)
    hive.at("by name again").drop_partition_by_name(db, "t", "ds=b/n=1", True)
    hive.files(f"{db}.db/t")
    for name in ("", "ds=a", "nope", "ds=a/n=1/x=1"):
        hive.at(repr(name)).drop_partition_by_name(db, "t", name, True)
    for values in ([], ["a"], ["a", "1", "2"]):
        hive.at(str(values)).drop_partition(db, "t", values, True)
    hive.drop_partition_with_environment_context(db, "t", ["a", "10"], True, EnvironmentContext({"ifPurge": "TRUE"}))
    hive.drop_partition_by_name_with_environment_context(db, "t", "ds=b/n=10", True, EnvironmentContext(None))
    hive.get_partition_names(db, "t", -1)
    hive.files(f"{db}.db/t")


@scenario
def partitions_are_dropped_by_names(hive: Recorder, db: str) -> None:
    filled(hive, db)

    def drop(label: str, names: list[str], **fields: object) -> None:
        request = DropPartitionsRequest(db, "t", RequestPartsSpec(names=names), **fields)
        hive.at(label).drop_partitions_req(request)
        hive.at(label).get_partition_names(db, "t", -1)

    drop("one is missing", ["ds=a/n=1", "ds=a/n=99"], deleteData=True, ifExists=False)
    drop("one is missing, may be", ["ds=a/n=1", "ds=a/n=99"], deleteData=True, ifExists=True)
    drop("without data", ["ds=b/n=1"], deleteData=False, ifExists=False)
    drop("no result", ["ds=b/n=2"], deleteData=True, needResult=False)
    drop("nothing", [], deleteData=True)
    drop("defaults", ["ds=a/n=2"])
    drop("a wrong name", ["nope"], ifExists=True)
    hive.files(f"{db}.db/t")
    hive.at("no parts").drop_partitions_req(DropPartitionsRequest(db, "t", None))
    hive.at("empty parts").drop_partitions_req(DropPartitionsRequest(db, "t", RequestPartsSpec()))


@scenario
def partition_names_as_functions(hive: Recorder, db: str) -> None:
    for name in (
        "a=1/b=2",
        "B=x/A=y",
        "a=1%2F2",
        "",
        "a",
        "a=",
        "=b",
        "a=1/a=2",
        "a=é",
        "a=%",
        "a=%zz",
        "/a=1",
        "a=1=2",
    ):
        hive.at(repr(name)).partition_name_to_vals(name)
        hive.at(repr(name)).partition_name_to_spec(name)
    for values in ([], ["a"], ["é"], ["a,b"], ["\n"], ["\0"]):
        hive.at(repr(values)).partition_name_has_valid_characters(values, False)
        hive.at(f"{values!r} or else").partition_name_has_valid_characters(values, True)
    hive.at("nothing").partition_name_to_vals(None)
    hive.at("nothing").partition_name_to_spec(None)
