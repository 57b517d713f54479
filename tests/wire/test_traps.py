"""Behaviour that no IDL describes and clients rely on. The docstring of a test for one of these traps names it: `Trap
N`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from thrift.Thrift import TApplicationException, TMessageType, TType

from tests.fixtures.server import Server, connected
from tests.wire.builders import columns, descriptor, new_database, new_table, partition, table, unique
from thrift_idl.gen.hive_metastore.ttypes import (
    AlreadyExistsException,
    CheckLockRequest,
    Database,
    EnvironmentContext,
    Function,
    GetOpenTxnsResponse,
    HeartbeatRequest,
    InvalidObjectException,
    InvalidOperationException,
    LockComponent,
    LockRequest,
    MetaException,
    NoSuchLockException,
    NoSuchObjectException,
    NoSuchTxnException,
    PrincipalType,
)

KEYS = [("ds", "string")]

TRAPS = """
1 methods that are not served have a kind and a text of their own, and the connection goes on
2 one method has several shapes on the wire, by the version of the client
3 clients leave out what they call required; contexts come without properties
4 old methods declare no exceptions: their errors are said all the same
5 max_parts: -1 is all, 0 is none
6 shutdown is not answered, and the base service is there
7 set_ugi answers the groups as they were sent
8 names are folded, values of partitions are not; listings are ascending
9 @catalog# may stand before every database
10 patterns: * and | and a dot that is any character; none is everything
11 partition names are escaped as Hive's FileUtils does
12 by name, what is unknown is left out
13 fields that are never null
14 createTime is the server's, transient_lastDdlTime is set only where it is not
15 the parameter EXTERNAL decides, not the type
16 places below the warehouse
17 large values
18 texts that clients look for
19 each method says the exceptions that it declares
20 listings of what is unknown are empty
21 the default database stays
22 the grammar of partition filters
23 LIKE and an integer in one filter
24 the default partition of keys that are not texts satisfies no comparison
25 locks outlive connections, not their time
26 the notification log has no gaps
27 capabilities of clients are ignored
28 delegation tokens need Kerberos
29 unframed and framed, binary and compact
30 the server deletes the files of what is dropped
31 no client asks for a version first
"""


def test_every_trap_has_a_test() -> None:
    tests = Path(__file__).parents[1]
    written = "\n".join(path.read_text() for path in tests.rglob("test_*.py"))
    shown = set(re.findall(r"\bTrap (\d+)\b", written))
    assert [trap for trap in TRAPS.strip().splitlines() if trap.split()[0] not in shown] == []


@pytest.mark.parametrize("method", ["add_serde", "drop_ischema", "no_such_method", "é" * 100])
def test_methods_that_are_not_served(hive_client: Any, method: str) -> None:
    """Trap 1: exception type and text, and the connection continues. Trino, Presto, Hive and Doris depend on them."""
    send(hive_client, method, [(1, TType.STRING, "x"), (2, TType.I32, 7)])
    with pytest.raises(TApplicationException) as caught:
        hive_client.recv_get_database()
    assert caught.value.type == TApplicationException.UNKNOWN_METHOD
    assert caught.value.message == f"Invalid method name: '{method}'"
    assert hive_client.getStatus() == 2


def test_shapes_of_hive_2(hive_client: Any) -> None:
    """Trap 2: fields that Hive 2.3 numbers differently are accepted with its numbers."""
    database, name = new_table(hive_client)
    # Three arguments, not seven; no engine.
    hive_client.create_table_with_constraints(table(database, "three"), [], [], None, None, None, None)
    with pytest.raises(NoSuchObjectException):
        hive_client.delete_table_column_statistics(database, name, "a", None)
    # InsertEventRequestData: its first field was filesAdded; now it is `replace`.
    insertion = [(1, TType.STRUCT, [(1, TType.LIST, ["file"])])]
    report = [(1, TType.BOOL, True), (2, TType.STRUCT, insertion), (3, TType.STRING, database), (4, TType.STRING, name)]
    send(hive_client, "fire_listener_event", [(1, TType.STRUCT, report)])
    assert hive_client.recv_fire_listener_event().eventIds
    # AddDynamicPartitions: clients without transactions do not send it, and get a clear error.
    old = [(1, TType.I64, 1), (2, TType.STRING, database), (3, TType.STRING, name), (4, TType.LIST, ["ds=1"])]
    send(hive_client, "add_dynamic_partitions", [(1, TType.STRUCT, old)])
    with pytest.raises((NoSuchTxnException, NoSuchObjectException, MetaException, TApplicationException)):
        hive_client.recv_add_dynamic_partitions()
    answer = hive_client.get_open_txns()
    assert isinstance(answer, GetOpenTxnsResponse)
    assert answer.abortedBits is not None  # required by Hive 3 and 4
    assert hive_client.get_partition_names(database, "nope", -1) == []  # an error in field 2 means no error to Hive 2.3


def test_methods_without_exceptions_return_their_error(hive_client: Any) -> None:
    """Trap 4."""
    for call in (
        lambda: hive_client.get_table_objects_by_name("@no-separator", ["t"]),
        lambda: hive_client.get_open_txns_req(None),
    ):
        with pytest.raises(TApplicationException) as caught:
            call()
        assert caught.value.type == TApplicationException.INTERNAL_ERROR
        assert caught.value.message
    assert hive_client.getStatus() == 2


def test_the_base_service(hive_client: Any) -> None:
    """Trap 6: shutdown has no reply, and ends nothing."""
    hive_client.shutdown()
    assert hive_client.getStatus() == 2
    assert hive_client.getName()
    assert hive_client.aliveSince() > 1_000_000_000
    assert hive_client.getCounters()["getStatus"] >= 1


def test_the_user_of_a_connection(hive_client: Any) -> None:
    """Trap 7: the groups are returned as they were sent; a second user is accepted, too."""
    assert hive_client.set_ugi("me", ["us", "them"]) == ["us", "them"]
    assert hive_client.set_ugi("you", list("grp")) == ["g", "r", "p"]  # PyIceberg sends characters
    assert hive_client.set_ugi("you", []) == []


def test_names_are_folded_and_values_are_not(hive_client: Any) -> None:
    """Trap 8."""
    database = unique("Db")
    hive_client.create_database(Database(name=database.upper()))
    sd = descriptor(cols=columns(("Upper", "int")))
    hive_client.create_table(table(database.upper(), "TheTable", [("Ds", "string")], sd=sd))
    hive_client.add_partition(partition(database, "THETABLE", ["VaLue"], sd=sd))
    stored_table = hive_client.get_table(database, "thetable")
    names = (
        stored_table.dbName,
        stored_table.tableName,
        stored_table.sd.cols[0].name,
        stored_table.partitionKeys[0].name,
    )
    assert names == (database.lower(), "thetable", "upper", "ds")
    assert hive_client.get_partition_names(database, "TheTable", -1) == ["ds=VaLue"]
    for name in ("b", "C", "a"):
        hive_client.create_table(table(database, name))
        hive_client.create_function(Function(name, database, "c", "me", PrincipalType.USER, 0, 1, []))
    assert hive_client.get_all_tables(database) == ["a", "b", "c", "thetable"]
    assert hive_client.get_functions(database, "*") == ["a", "b", "c"]


def test_fields_that_are_never_missing(hive_client: Any, metastore_server: Server) -> None:
    """Traps 13 and 16: clients fail on null there. Trap 13; Trap 16: locations are in the warehouse."""
    database = new_database(hive_client)
    text = {"viewOriginalText": "x", "viewExpandedText": "x"}
    hive_client.create_table(table(database, "t", KEYS, parameters=None))
    hive_client.create_table(table(database, "v", tableType="VIRTUAL_VIEW", parameters=None, **text))
    hive_client.add_partition(partition(database, "t", ["1"], parameters=None))
    for each in (hive_client.get_table(database, "t"), hive_client.get_table(database, "v")):
        assert None not in (each.sd, each.sd.serdeInfo, each.sd.cols, each.partitionKeys, each.parameters)
        assert each.tableType
        assert None not in (each.sd.serdeInfo.parameters, each.sd.parameters, each.sd.skewedInfo)
    (part,) = hive_client.get_partitions(database, "t", -1)
    assert None not in (part.values, part.parameters, part.sd, part.sd.serdeInfo, part.catName, part.createTime)
    path = f"{metastore_server.warehouse}/{database}.db"
    assert part.sd.location == f"{path}/t/ds=1"
    stored = hive_client.get_database(database)
    assert (stored.parameters, stored.ownerType, stored.locationUri) == ({}, PrincipalType.USER, path)


def test_times_of_tables_and_partitions(hive_client: Any) -> None:
    """Trap 14: the time is the server's; transient_lastDdlTime is set only if it is missing."""
    database = new_database(hive_client)
    given = {"transient_lastDdlTime": "5"}
    hive_client.create_table(table(database, "t", KEYS, createTime=1, parameters=dict(given)))
    hive_client.add_partition(partition(database, "t", ["1"], createTime=1, parameters=dict(given)))
    actual, part = hive_client.get_table(database, "t"), hive_client.get_partition(database, "t", ["1"])
    assert actual.createTime > 1_000_000_000 < part.createTime
    assert actual.parameters["transient_lastDdlTime"] == part.parameters["transient_lastDdlTime"] == "5"
    del actual.parameters["transient_lastDdlTime"]
    part.parameters["transient_lastDdlTime"] = "0"
    hive_client.alter_table(database, "t", actual)
    hive_client.alter_partition(database, "t", part)
    assert int(hive_client.get_table(database, "t").parameters["transient_lastDdlTime"]) > 5
    assert int(hive_client.get_partition(database, "t", ["1"]).parameters["transient_lastDdlTime"]) > 5


def test_texts_that_clients_look_for(hive_client: Any) -> None:
    """Trap 18; test_functions covers functions, test_tables a commit without a lock."""
    database, name = new_table(hive_client, KEYS)
    hive_client.create_table(table(database, "taken", KEYS))
    hive_client.add_partition(partition(database, name, ["1"]))
    with pytest.raises(InvalidOperationException, match=f"Database {database} is not empty"):
        hive_client.drop_database(database, True, False)
    with pytest.raises(AlreadyExistsException, match="Partition already exists") as there:
        hive_client.add_partition(partition(database, name, ["1"]))
    assert there.value.message.startswith("Partition already exists")
    with pytest.raises(InvalidOperationException, match=f"new table {database}.taken already exists"):
        hive_client.alter_table(database, name, table(database, "taken", KEYS))
    with pytest.raises(InvalidOperationException, match="table not found"):
        hive_client.alter_table(database, "nope", table(database, "nope"))


Call = Callable[[Any, str], Any]


@pytest.mark.parametrize(
    ("call", "exception"),
    [
        (lambda c, db: c.get_table(db, "nope"), NoSuchObjectException),
        (lambda c, db: c.get_database("nope"), NoSuchObjectException),
        (lambda c, db: c.create_table(table("nope", "t")), InvalidObjectException),
        (lambda c, db: c.create_table(table(db, "t", KEYS)), AlreadyExistsException),
        (lambda c, db: c.create_database(Database(name=db)), AlreadyExistsException),
        (lambda c, db: c.alter_table(db, "nope", table(db, "nope")), InvalidOperationException),
        (lambda c, db: c.alter_partition(db, "t", partition(db, "t", ["9"])), InvalidOperationException),
        (lambda c, db: c.rename_partition(db, "t", ["9"], partition(db, "t", ["8"])), InvalidOperationException),
        (lambda c, db: c.drop_table(db, "nope", True), NoSuchObjectException),
        (lambda c, db: c.drop_partition(db, "t", ["9"], True), NoSuchObjectException),
        (lambda c, db: c.get_partition(db, "t", ["9"]), NoSuchObjectException),
        (lambda c, db: c.get_partitions(db, "nope", -1), NoSuchObjectException),
        (lambda c, db: c.get_partitions_by_filter(db, "t", "nope = 1", -1), MetaException),
        (lambda c, db: c.add_partition(partition(db, "nope", ["1"])), InvalidObjectException),
        (lambda c, db: c.get_function(db, "nope"), NoSuchObjectException),
        (lambda c, db: c.create_function(Function("f", "nope", "c", "me", 1, 0, 1)), NoSuchObjectException),
        (lambda c, db: c.drop_database("default", True, True), MetaException),
        (lambda c, db: c.get_table_column_statistics(db, "t", "nope"), NoSuchObjectException),
        (lambda c, db: c.lock(LockRequest([LockComponent(3, 2, db, "t")], 2**40, "u", "h")), NoSuchTxnException),
        (lambda c, db: c.check_lock(CheckLockRequest(2**40)), NoSuchLockException),
        (lambda c, db: c.heartbeat(HeartbeatRequest(2**40)), NoSuchLockException),
    ],
)
def test_each_method_raises_its_declared_exception(hive_client: Any, call: Call, exception: type[Exception]) -> None:
    """Trap 19: the declared exception type, so that its field number is right; and always a text."""
    database, _ = new_table(hive_client, KEYS)
    with pytest.raises(exception) as caught:
        call(hive_client, database)
    assert caught.value.message


def test_lists_of_missing_objects(hive_client: Any) -> None:
    """Trap 20: Presto's check of a schema and PyIceberg's list of tables depend on it."""
    database = new_database(hive_client)
    assert hive_client.get_all_tables("nowhere") == []
    assert hive_client.get_tables("nowhere", "*") == []
    assert hive_client.get_table_meta("nowhere", "*", []) == []
    assert hive_client.get_partition_names(database, "nope", -1) == []
    assert hive_client.get_partition_names("nowhere", "t", -1) == []
    assert hive_client.get_table_objects_by_name("nowhere", []) == []


def test_no_call_needs_a_version_first(metastore_server: Server) -> None:
    """Trap 31: any call may be the first one on a connection, and getVersion is answered."""
    for call in ("get_all_databases", "getVersion", "get_current_notificationEventId", "get_catalogs"):
        with connected(metastore_server) as client:
            assert getattr(client, call)() is not None


def test_a_spark_client_s_empty_contexts(hive_client: Any) -> None:
    """Trap 3: a context with unset properties, in every method that takes one."""
    database, name = new_table(hive_client, KEYS)
    nothing = EnvironmentContext(None)
    hive_client.add_partition_with_environment_context(partition(database, name, ["1"]), nothing)
    part = hive_client.get_partition(database, name, ["1"])
    hive_client.alter_partition_with_environment_context(database, name, part, nothing)
    hive_client.alter_partitions_with_environment_context(database, name, [part], nothing)
    hive_client.append_partition_with_environment_context(database, name, ["2"], nothing)
    hive_client.append_partition_by_name_with_environment_context(database, name, "ds=3", nothing)
    hive_client.drop_partition_by_name_with_environment_context(database, name, "ds=3", True, nothing)
    hive_client.drop_partition_with_environment_context(database, name, ["2"], True, nothing)
    assert hive_client.get_fields_with_environment_context(database, name, nothing)
    assert hive_client.get_schema_with_environment_context(database, name, nothing)
    hive_client.drop_table_with_environment_context(database, name, True, nothing)


def send(client: Any, method: str, fields: list[tuple[int, int, Any]]) -> None:
    """Makes a call whose arguments no generated class has."""
    protocol = client._oprot
    protocol.writeMessageBegin(method, TMessageType.CALL, 0)
    write_fields(protocol, fields)
    protocol.writeMessageEnd()
    protocol.trans.flush()


def write_fields(protocol: Any, fields: list[tuple[int, int, Any]]) -> None:
    write = {
        TType.STRING: protocol.writeString,
        TType.I64: protocol.writeI64,
        TType.I32: protocol.writeI32,
        TType.BOOL: protocol.writeBool,
        TType.STRUCT: lambda value: write_fields(protocol, value),
        TType.LIST: lambda value: write_texts(protocol, value),
    }
    for number, kind, value in fields:
        protocol.writeFieldBegin("", kind, number)
        write[kind](value)
    protocol.writeFieldStop()


def write_texts(protocol: Any, texts: list[str]) -> None:
    protocol.writeListBegin(TType.STRING, len(texts))
    for text in texts:
        protocol.writeString(text)
