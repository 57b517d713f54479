"""Databases."""

from __future__ import annotations

from tests.contract.recording import Recorder
from tests.contract.scenarios import scenario
from tests.wire.builders import table
from thrift_idl.gen.hive_metastore.ttypes import Database, PrincipalType

NOT_EMPTY = "Database .* is not empty"  # Spark shows it


@scenario
def databases_are_made_and_read(hive: Recorder, db: str) -> None:
    hive.get_database(db)
    hive.at("upper case").get_database(db.upper())
    hive.at("missing").get_database("nowhere")
    full = Database(
        name="Made_Full",
        description="d",
        locationUri=f"file:{hive.folder}/elsewhere/full",
        parameters={"k": "v", "Case": "Kept"},
        ownerName="Owner",
        ownerType=PrincipalType.ROLE,
    )
    hive.create_database(full)
    hive.at("full").get_database("made_full")
    hive.create_database(Database(name="made_bare"))
    hive.at("bare").get_database("made_bare")
    hive.at("owner without a type").create_database(Database(name="made_owned", ownerName="me"))
    hive.at("owner without a type").get_database("made_owned")
    hive.at("again").create_database(Database(name="MADE_BARE"))
    hive.files("made_bare.db")
    hive.files("elsewhere")
    hive.at("default").get_database("default")


@scenario
def databases_with_bad_names(hive: Recorder, db: str) -> None:
    for name in ("", " ", "a b", "a/b", "a'b", "a.b", "a-b", "new\nline", "é", "1a", "_a", None):
        hive.at(repr(name)).create_database(Database(name=name))
        hive.at(repr(name)).get_database(name)
    hive.at("trailing blank").create_database(Database(name="bad_blank "))
    hive.at("root").create_database(Database(name="bad_root", locationUri="file:/"))
    hive.at("root").drop_database("bad_root", False, False)
    hive.at("trailing blank").drop_database("bad_blank", True, False)
    hive.at("relative").create_database(Database(name="bad_relative", locationUri="somewhere"))
    hive.at("relative").get_database("bad_relative")
    hive.get_databases("bad_*")


@scenario
def databases_are_listed(hive: Recorder, db: str) -> None:
    for name in ("list_b", "list_a", "list_ab", "LIST_C"):
        hive.at(name).create_database(Database(name=name))

    def here(actual: list[str]) -> list[str]:
        """Databases of other scenarios are left out."""
        return [text for text in actual if text == "default" or text.startswith("list_")]

    hive.at(show=here).get_all_databases()
    for pattern in ("list_*", "LIST_A*", "list_a|list_b", "list_.", "list_a.", "list_[ab]", "", "nothing", "*list_a*"):
        hive.at(pattern).get_databases(pattern)
    for pattern in ("*", ".*", None):
        hive.at(f"all {pattern}", show=here).get_databases(pattern)
    for pattern in ("list_(a|b)", "list_ab?", "list_a+", "li%", "(", "[", "\\"):
        hive.at(f"expression {pattern}").get_databases(pattern)


@scenario
def databases_are_changed(hive: Recorder, db: str) -> None:
    hive.create_database(Database(name="changed", description="d", parameters={"a": "1"}, ownerName="o"))
    hive.at("parameters").alter_database("changed", Database(name="changed", parameters={"b": "2"}))
    hive.at("parameters").get_database("changed")
    hive.at("owner").alter_database(
        "CHANGED", Database(name="changed", ownerName="p", ownerType=PrincipalType.USER, parameters={})
    )
    hive.at("owner").get_database("changed")
    hive.at("missing").alter_database("nowhere", Database(name="nowhere", parameters={}))
    hive.at("description").alter_database("changed", Database(name="changed", description="new", parameters={}))
    hive.at("description").get_database("changed")
    elsewhere = Database(name="changed", locationUri=f"file:{hive.folder}/moved", parameters={})
    hive.at("location").alter_database("changed", elsewhere)
    hive.at("location").get_database("changed")
    hive.at("other name").alter_database("changed", Database(name="renamed", parameters={}))
    hive.at("other name").get_databases("changed|renamed")


@scenario
def databases_are_dropped(hive: Recorder, db: str) -> None:
    hive.at("missing").drop_database("nowhere", True, False)
    hive.at("default", says="[Dd]efault|default").drop_database("default", True, False)
    hive.create_table(table(db, "t"))
    hive.at("not empty", says=NOT_EMPTY).drop_database(db, True, False)
    hive.get_all_tables(db)
    hive.at("cascade").drop_database(db, True, True)
    hive.files(f"{db}.db")
    hive.get_all_tables(db)
    hive.create_database(Database(name="dropped"))
    hive.at("without data").drop_database("dropped", False, False)
    hive.files("dropped.db")
    hive.at("again").drop_database("dropped", True, True)
    hive.create_database(Database(name="dropped"))
    hive.create_table(table("dropped", "a"))
    hive.put("dropped.db/a/data")
    hive.at("cascade without data").drop_database("dropped", False, True)
    hive.files("dropped.db")


@scenario
def databases_with_a_catalog_before_their_name(hive: Recorder, db: str) -> None:
    """A Hive 2.3 server takes the mark for a part of the name; ours serves clients of Hive 3 and 4, too."""
    hive.get_database(f"@hive#{db}")
    hive.get_all_tables(f"@hive#{db}")
