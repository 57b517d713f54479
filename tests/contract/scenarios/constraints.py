"""Primary and foreign keys: the constraints that Hive 2.3 has."""

from __future__ import annotations

from typing import Any

from tests.contract.recording import Recorder
from tests.contract.scenarios import scenario
from tests.wire.builders import table
from thrift_idl.gen.hive_metastore.ttypes import (
    AddForeignKeyRequest,
    AddPrimaryKeyRequest,
    DropConstraintRequest,
    ForeignKeysRequest,
    PrimaryKeysRequest,
    PrimaryKeysResponse,
    SQLForeignKey,
    SQLPrimaryKey,
)

NEWER = (None, None, None, None)  # the constraints that Hive 2.3 does not know


def primary(db: str, name: str = "pk", *names: str, of: str = "parent") -> list[SQLPrimaryKey]:
    """Returns a key of one or more columns. In Hive, a constraint's name is unique among all tables."""
    return [
        SQLPrimaryKey(db, of, column, position, f"{db}_{name}", False, False, True)
        for position, column in enumerate(names or ("a",), 1)
    ]


def foreign(db: str, name: str = "fk", **fields: Any) -> list[SQLForeignKey]:
    given = {
        "pktable_db": db,
        "pktable_name": "parent",
        "pkcolumn_name": "a",
        "fktable_db": db,
        "fktable_name": "child",
        "fkcolumn_name": "a",
        "key_seq": 1,
        "update_rule": 0,
        "delete_rule": 0,
        "fk_name": f"{db}_{name}",
        "pk_name": f"{db}_pk",
        "enable_cstr": False,
        "validate_cstr": False,
        "rely_cstr": True,
    }
    return [SQLForeignKey(**given | fields)]


def by_position(answer: PrimaryKeysResponse) -> list[SQLPrimaryKey]:
    return sorted(answer.primaryKeys, key=lambda each: each.key_seq)


@scenario
def constraints_are_added_and_read(hive: Recorder, db: str) -> None:
    for name in ("parent", "child"):
        hive.create_table(table(db, name))
    hive.at("none").get_primary_keys(PrimaryKeysRequest(db, "parent"))
    hive.at("foreign without primary").add_foreign_key(AddForeignKeyRequest(foreign(db)))
    hive.add_primary_key(AddPrimaryKeyRequest(primary(db)))
    hive.get_primary_keys(PrimaryKeysRequest(db, "parent"))
    hive.at("second").add_primary_key(AddPrimaryKeyRequest(primary(db, "pk2")))
    hive.add_foreign_key(AddForeignKeyRequest(foreign(db)))
    hive.get_foreign_keys(ForeignKeysRequest(None, None, db, "child"))
    hive.at("both ends").get_foreign_keys(ForeignKeysRequest(db, "parent", db, "child"))
    hive.at("parent only").get_foreign_keys(ForeignKeysRequest(db, "parent", None, None))
    hive.at("unknown column").add_primary_key(AddPrimaryKeyRequest(primary(db, "pk3", "nope", of="child")))
    hive.at("missing table").add_primary_key(AddPrimaryKeyRequest(primary(db, "pk3", of="nope")))
    hive.at("missing table").get_primary_keys(PrimaryKeysRequest(db, "nope"))
    hive.at("missing table").get_foreign_keys(ForeignKeysRequest(None, None, db, "nope"))
    hive.at("missing parent").add_foreign_key(AddForeignKeyRequest(foreign(db, "fk2", pktable_name="nope")))
    hive.at("unknown parent column").add_foreign_key(AddForeignKeyRequest(foreign(db, "fk2", pkcolumn_name="x")))
    hive.at("missing child").add_foreign_key(AddForeignKeyRequest(foreign(db, "fk2", fktable_name="nope")))


@scenario
def constraints_are_dropped(hive: Recorder, db: str) -> None:
    for name in ("parent", "child"):
        hive.create_table(table(db, name))
    hive.add_primary_key(AddPrimaryKeyRequest(primary(db, "pk_d", "a", "x")))
    hive.at("of two columns", show=by_position).get_primary_keys(PrimaryKeysRequest(db, "parent"))
    hive.at("other table").drop_constraint(DropConstraintRequest(db, "child", f"{db}_pk_d"))
    hive.drop_constraint(DropConstraintRequest(db, "parent", f"{db}_pk_d"))
    hive.at("dropped").get_primary_keys(PrimaryKeysRequest(db, "parent"))
    hive.at("again").drop_constraint(DropConstraintRequest(db, "parent", f"{db}_pk_d"))
    hive.add_primary_key(AddPrimaryKeyRequest(primary(db, "Upper")))
    hive.at("upper case").drop_constraint(DropConstraintRequest(db, "parent", f"{db.upper()}_UPPER"))
    hive.at("missing table").drop_constraint(DropConstraintRequest(db, "nope", f"{db}_pk_d"))


@scenario
def constraints_come_with_their_table(hive: Recorder, db: str) -> None:
    hive.at("parent").create_table_with_constraints(table(db, "parent"), primary(db), [], *NEWER)
    hive.at("child").create_table_with_constraints(table(db, "child"), [], foreign(db), *NEWER)
    hive.get_primary_keys(PrimaryKeysRequest(db, "parent"))
    hive.get_foreign_keys(ForeignKeysRequest(None, None, db, "child"))
    hive.at("unknown column").create_table_with_constraints(
        table(db, "bad"), primary(db, "pk9", "nope", of="bad"), [], *NEWER
    )
    hive.at("bad").get_table(db, "bad")
    hive.drop_table(db, "child", True)
    hive.at("parent only").get_foreign_keys(ForeignKeysRequest(db, "parent", None, None))
    hive.at("parent").drop_table(db, "parent", True)
