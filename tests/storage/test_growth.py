"""Nothing grows for ever: after lives of tables with all that belongs to them, and cleaning, there is what was before.

`METASTORE_TEST_CYCLES` lives more lives than three: 300 are a soak of some minutes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import func, select

from metastore.app.worker import Application
from metastore.context import Caller, caller
from metastore.domain.names import TableName
from metastore.errors import InvalidOperationError
from metastore.services import descriptor_cleaning
from metastore.services.authorization.everyone import Everyone
from metastore.services.cleaning import CleaningService
from metastore.services.descriptor_cleaning import DescriptorCleaningService
from metastore.services.files import journal
from metastore.services.notifications import NotificationService
from metastore.services.timeouts import TimeoutService
from metastore.services.writes import WriteService
from metastore.storage.schema import metadata
from tests.fixtures.application import called
from tests.wire.acid import EX, abort, commit, component, lock, open_transaction, updating
from tests.wire.builders import columns, descriptor, partition, skewed, table
from tests.wire.dependencies import requests
from tests.wire.statistics import longs
from tests.wire.writing import begin, day, publish, write_file
from thrift_idl.gen.hive_metastore.ttypes import (
    AddPrimaryKeyRequest,
    AllocateTableWriteIdsRequest,
    ColumnStatistics,
    ColumnStatisticsDesc,
    CompactionRequest,
    CompactionType,
    Database,
    Function,
    FunctionType,
    HiveObjectPrivilege,
    HiveObjectRef,
    HiveObjectType,
    InsertEventRequestData,
    PartitionEventType,
    PrincipalType,
    PrivilegeBag,
    PrivilegeGrantInfo,
    Role,
    SetPartitionsStatsRequest,
    SQLPrimaryKey,
    Type,
    WriteNotificationLogRequest,
)
from thrift_idl.gen.metastore.ttypes import PublishMode

CYCLES = int(os.environ.get("METASTORE_TEST_CYCLES", "3"))
KEYS = [("ds", "string")]
TRIES = 5  # background tasks of the application may be running


class Direct:
    """A client that calls handlers directly."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(called, self._application, name)


def rows(application: Application) -> dict[str, int]:
    """Returns the number of rows of each table, without the sizes that a timer records and the timers' own state."""
    with application._store._engine.connect() as connection:
        return {
            name: connection.execute(select(func.count()).select_from(each)).scalar_one()
            for name, each in metadata.tables.items()
            if name not in ("catalog_sizes", "metastore_properties")
        }


def live(client: Any, number: int) -> None:
    """Creates a database with every kind of object, each with unique storage descriptors, and drops it."""
    db, role = f"db{number}", f"role{number}"
    client.create_database(Database(db))
    shape = descriptor(cols=columns(("a", "int"), (f"c{number}", "string")), skewedInfo=skewed(["a"], [[str(number)]]))
    shape.parameters = {"n": str(number)}
    for name in ("t", "u"):
        client.create_table(table(db, name, KEYS, sd=shape))
    client.add_partitions([partition(db, "t", [text], sd=descriptor()) for text in "abc"])
    more = [*shape.cols, *columns((f"d{number}", "bigint"))]
    client.alter_table(db, "t", table(db, "t", KEYS, sd=descriptor(cols=more)))
    client.markPartitionForEvent(db, "t", {"ds": "a"}, PartitionEventType.LOAD_DONE)
    _depend(client, db)
    _describe(client, db, role)
    _transact(client, db)
    _write(client, db)
    client.rename_partition(db, "t", ["a"], partition(db, "t", ["z"]))
    client.truncate_table(db, "t", ["ds=b"])
    client.alter_table(db, "u", table(db, "renamed", KEYS, sd=shape))
    client.drop_partition(db, "t", ["c"], True)
    client.drop_role(role)
    client.drop_type(f"type{number}")
    client.drop_table(db, "dependent", True)
    client.drop_database(db, True, True)


def _depend(client: Any, db: str) -> None:
    requests.create(client, db, "dependent", "t")
    requests.add_to_dependent(client, db, "dependent", ["a"])


def _describe(client: Any, db: str, role: str) -> None:
    for location in (ColumnStatisticsDesc(True, db, "t"), ColumnStatisticsDesc(False, db, "t", "ds=a")):
        client.set_aggr_stats_for(
            SetPartitionsStatsRequest([ColumnStatistics(location, [longs("a", 1, 2)])], engine="hive")
        )
    client.add_primary_key(AddPrimaryKeyRequest([SQLPrimaryKey(db, "t", "a", 1, "key", False, True, False)]))
    client.create_function(
        Function("f", db, "org.F", "o", PrincipalType.USER, functionType=FunctionType.JAVA, resourceUris=[])
    )
    client.create_type(Type(role.replace("role", "type"), fields=columns(("a", "int"))))
    client.create_role(Role(role, 0, "me"))
    client.grant_role(role, "alice", PrincipalType.USER, "me", PrincipalType.USER, False)
    grant = PrivilegeGrantInfo("select", 0, "me", PrincipalType.USER, False)
    for kind, values in ((HiveObjectType.TABLE, None), (HiveObjectType.PARTITION, ["a"])):
        what = HiveObjectRef(kind, db, "t", values)
        client.grant_privileges(PrivilegeBag([HiveObjectPrivilege(what, role, PrincipalType.ROLE, grant, "sql")]))


def _transact(client: Any, db: str) -> None:
    for end in (commit, abort):
        transaction = open_transaction(client)
        lock(client, updating(db, "t", "ds=a"), transaction=transaction)
        client.allocate_table_write_ids(AllocateTableWriteIdsRequest(db, "t", [transaction]))
        client.add_write_notification_log(
            WriteNotificationLogRequest(transaction, 1, db, "t", InsertEventRequestData(filesAdded=["f"]), ["a"])
        )
        end(client, transaction)
    open_transaction(client)
    lock(client, component(EX, db))
    client.compact2(CompactionRequest(db, "t", "ds=a", CompactionType.MAJOR))


def _write(client: Any, db: str) -> None:
    root = client.get_table(db, "u").decode().sd.location
    for value, mode in (("1", PublishMode.CREATE), ("1", PublishMode.OVERWRITE)):
        query = begin(client, (db, "u"))
        path = f"{root}/ds={value}/{query}"
        write_file(f"{path}/rows")
        publish(client, (db, "u"), query, day(root, value, mode, location=path))
    begin(client, (db, "u"))  # by a writer that dies


def clean(application: Application) -> None:
    """Runs all background tasks as if every retention time were over; several times, because some depend on others."""
    store = application._store
    descriptors = DescriptorCleaningService(store)
    for _ in range(4):
        with store._engine.connect() as connection:
            connection.exec_driver_sql("UPDATE open_writes SET lease_ends_at = '2000-01-01'")
            connection.exec_driver_sql("UPDATE drops SET kept_until = '2000-01-01'")
        application.services.undrop.purge()
        TimeoutService(store, timedelta(0)).run()
        application.journal.recover()
        CleaningService(application.journal, timedelta(0), Everyone(store)).run()
        descriptors.run()
        NotificationService(store, -1, Everyone(store)).clean()  # also those of the current second


def test_nothing_is_left(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_MOVES_KEPT", timedelta(0))
    monkeypatch.setattr(descriptor_cleaning, "_LEAST", 0.0)
    monkeypatch.setattr(descriptor_cleaning, "_SHARE", 0)
    client = Direct(application)
    live(client, 0)
    clean(application)
    first = rows(application)
    for number in range(1, CYCLES):
        live(client, number)
        for _ in range(TRIES):
            clean(application)
            if rows(application) == first:
                break
        assert rows(application) == first


def test_a_user_has_a_limited_number_of_open_writes(application: Application) -> None:
    """Readers of a table read the list of its open writes."""
    called(application, "create_table", table("default", "t"))
    writes, name = WriteService(application._store, application.journal.warehouse, 2), TableName("hive", "default", "t")
    me, another = Caller("here", "me"), Caller("here", "another")

    def begun(user: Caller) -> str:
        token = caller.set(user)
        try:
            return writes.begin(name, 60_000)[0]
        finally:
            caller.reset(token)

    first = begun(me), begun(me)
    with pytest.raises(InvalidOperationError, match="METASTORE_MAX_OPEN_TRANSACTIONS"):
        begun(me)
    begun(another)
    writes.end(first[0])
    begun(me)
