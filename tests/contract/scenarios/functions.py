"""Functions and types."""

from __future__ import annotations

from typing import Any

from tests.contract.recording import Recorder
from tests.contract.scenarios import scenario
from thrift_idl.gen.hive_metastore.ttypes import Database, Function, FunctionType, PrincipalType, ResourceUri, Type


def function(db: str, name: str | None, **fields: Any) -> Function:
    given: dict[str, Any] = {
        "className": "org.example.F",
        "ownerName": "me",
        "ownerType": PrincipalType.USER,
        "functionType": FunctionType.JAVA,
        "resourceUris": [ResourceUri(1, "file:/a.jar"), ResourceUri(2, "file:/b")],
    }
    return Function(functionName=name, dbName=db, **given | fields)


@scenario
def functions_are_made_and_read(hive: Recorder, db: str) -> None:
    hive.create_function(function(db, "made"))
    hive.get_function(db, "made")
    hive.at("folded").get_function(db.upper(), "MADE")
    hive.at("upper case").create_function(function(db, "Upper"))
    hive.at("upper case").get_function(db, "upper")
    hive.at("there").create_function(function(db, "made"))
    hive.at("missing", says="does not exist").get_function(db, "nope")
    hive.at("missing database").get_function("nowhere", "f")
    hive.at("missing database").create_function(function("nowhere", "f"))
    for name in ("a b", "", "a.b", "é", None):
        hive.at(f"name {name!r}").create_function(function(db, name))
    hive.at("no resources").create_function(function(db, "bare", resourceUris=None))
    hive.at("no resources").get_function(db, "bare")
    hive.at("no owner").create_function(function(db, "orphan", ownerName=None, ownerType=None))
    hive.at("no owner").get_function(db, "orphan")
    hive.at("no class").create_function(function(db, "classless", className=None))
    hive.at("no kind").create_function(function(db, "kindless", functionType=None))


@scenario
def functions_are_listed(hive: Recorder, db: str) -> None:
    for name in ("b", "a", "ab"):
        hive.create_function(function(db, name))
    for pattern in ("*", None, "a*", "A*", "a|b", "a.", "nope", "", ".*"):
        hive.at(repr(pattern), show=sorted).get_functions(db, pattern)
    hive.at("missing database").get_functions("nowhere", "*")
    everything = hive.call("get_all_functions", ())
    here = sorted(
        (each for each in everything.functions or [] if each.dbName == db), key=lambda each: each.functionName
    )
    hive.note("get_all_functions", hive.plain(here))


@scenario
def functions_are_changed_and_dropped(hive: Recorder, db: str) -> None:
    hive.create_database(Database(name=f"{db}_b"))
    hive.create_function(function(db, "f"))
    hive.create_function(function(db, "taken"))
    hive.alter_function(db, "f", function(db, "f", className="org.example.G", ownerName="you", resourceUris=[]))
    hive.get_function(db, "f")
    hive.at("new name").alter_function(db, "f", function(db, "g"))
    hive.at("new name").get_function(db, "g")
    hive.at("taken").alter_function(db, "g", function(db, "taken"))
    hive.at("missing").alter_function(db, "nope", function(db, "nope"))
    hive.at("bad name").alter_function(db, "g", function(db, "a b"))
    hive.at("other database").alter_function(db, "g", function(f"{db}_b", "g"))
    hive.at("moved").get_function(f"{db}_b", "g")
    hive.drop_function(db, "TAKEN")
    hive.at("again").drop_function(db, "taken")
    hive.at("missing database").drop_function("nowhere", "f")
    hive.at("with a function").drop_database(f"{db}_b", True, False)
    hive.at("cascade").drop_database(f"{db}_b", True, True)


@scenario
def types(hive: Recorder, db: str) -> None:
    hive.at("missing").get_type("nope")
    hive.create_type(Type(name="contract_type", type1="int"))
    hive.get_type("contract_type")
    hive.at("there").create_type(Type(name="contract_type", type1="int"))
    hive.drop_type("contract_type")
    hive.at("again").drop_type("contract_type")
    hive.get_type_all("nope")
