"""A metastore with tables that have everything that can belong to one, for tests of undrop."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import text

from metastore.app.worker import Application
from metastore.settings import Settings
from tests.fixtures.application import called
from tests.wire.builders import columns, descriptor, partition, skewed, table
from tests.wire.statistics import longs, of_table
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    EnvironmentContext,
    ForeignKeysRequest,
    Function,
    HiveObjectPrivilege,
    HiveObjectRef,
    HiveObjectType,
    PartitionsStatsRequest,
    PrimaryKeysRequest,
    PrincipalType,
    PrivilegeBag,
    PrivilegeGrantInfo,
    SQLForeignKey,
    SQLPrimaryKey,
    TableStatsRequest,
)
from thrift_idl.gen.metastore.ttypes import (
    BeginWriteRequest,
    CheckFilesRequest,
    CreateDependentTableRequest,
    DependenciesRequest,
    DependencyDirection,
    DroppedObject,
    DroppedRequest,
    PublishMode,
    PublishPartition,
    PublishRequest,
    UndropRequest,
    UndropResult,
)

KEYS = [("ds", "string"), ("hr", "string")]
ANYTHING = HiveObjectRef()
PURGE = EnvironmentContext({"ifPurge": "TRUE"})


class Installation:
    """Creates tables with everything that can belong to one, and rows. Each file contains its location."""

    def __init__(self, database_url: str, folder: Path, **settings: Any) -> None:
        self.warehouse = folder / "warehouse"
        given = Settings(warehouse=str(self.warehouse), database_url=database_url, **settings)
        self.application = Application(given, database_url)
        self.application.services.databases.bootstrap()
        self.call = partial(called, self.application)
        self.call("create_database", Database("db", description="ours"))
        self.call("create_function", Function("f", "db", "java.lang.String", "me", PrincipalType.USER, 1, 1, []))
        sd = descriptor(skewedInfo=skewed(["x"], [["heavy"]]), storedAsSubDirectories=True)
        days = table("db", "days", KEYS, sd=sd, parameters={"colour": "red"})
        self.call("create_table_with_constraints", days, [SQLPrimaryKey("db", "days", "a")], [], [], [], [], [])
        keys = [SQLForeignKey("db", "days", "a", "db", "plain", "a")]
        self.call(
            "create_table_with_constraints",
            table("db", "plain", sd=descriptor(numBuckets=4, bucketCols=["a"])),
            [],
            keys,
            [],
            [],
            [],
            [],
        )
        for day in "12":
            for hour in "12":
                one = partition("db", "days", [day, hour], sd=descriptor(skewedInfo=skewed(["x"], [["heavy"]])))
                path = f"{self.warehouse}/db.db/days/ds={day}/hr={hour}"
                one.sd.location, one.sd.storedAsSubDirectories = path, True
                one.sd.skewedInfo.skewedColValueLocationMaps = {("heavy",): f"{path}/x=heavy"}
                self.call("add_partition", one)
                (Path(path) / "x=heavy").mkdir()
                (Path(path) / "x=heavy" / "rows").write_text(path)
                (Path(path) / "rows").write_text(path)
        (self.warehouse / "db.db/plain/rows").write_text("plain")
        for name, each in (("days", "ds=1/hr=1"), ("plain", "")):
            statistics = of_table("db", name, longs("a", 1, 2))
            statistics.statsDesc.isTblLevel, statistics.statsDesc.partName = not each, each or None
            self.call("update_partition_column_statistics" if each else "update_table_column_statistics", statistics)
        self.call("grant_privileges", PrivilegeBag([self.grant("days", None), self.grant("days", ["1", "1"])]))
        self.call(
            "create_dependent_table", CreateDependentTableRequest("db", "signal", columns(("ds", "")), "db", "days")
        )
        self.call("append_partition", "db", "signal", ["1"])

    def grant(self, name: str, values: list[str] | None) -> HiveObjectPrivilege:
        kind = HiveObjectType.PARTITION if values else HiveObjectType.TABLE
        info = PrivilegeGrantInfo("select", 1, "root", PrincipalType.USER, False)
        return HiveObjectPrivilege(HiveObjectRef(kind, "db", name, values), "ann", PrincipalType.USER, info, "SQL")

    def state(self) -> dict[str, Any]:
        """Returns everything that clients can read, and the files."""
        actual: dict[str, Any] = {"database": self.call("get_database", "db").decode()}
        actual["functions"] = self.call("get_functions", "db", "*")
        for name in self.call("get_all_tables", "db"):
            actual[name] = self.call("get_table", "db", name).decode()
            if actual[name].partitionKeys:
                actual[f"{name} partitions"] = self.call("get_partitions", "db", name, -1).decode()
        actual["grants"] = self.call("list_privileges", "ann", PrincipalType.USER, ANYTHING)
        actual["statistics"] = [
            self.call("get_table_statistics_req", TableStatsRequest("db", "plain", ["a"])),
            self.call("get_partitions_statistics_req", PartitionsStatsRequest("db", "days", ["a"], ["ds=1/hr=1"])),
        ]
        keys = self.call("get_primary_keys", PrimaryKeysRequest("db", "days")).primaryKeys
        actual["keys"] = keys.decode() if hasattr(keys, "decode") else keys
        keys = self.call("get_foreign_keys", ForeignKeysRequest(None, None, "db", "plain")).foreignKeys
        actual["foreign keys"] = keys.decode() if hasattr(keys, "decode") else keys
        request = DependenciesRequest("db", "signal", DependencyDirection.UP)
        actual["dependencies"] = self.call("get_dependencies", request)
        actual["disk"] = self.disk()
        return actual

    def disk(self) -> dict[str, str]:
        files = (path for path in self.warehouse.rglob("*") if path.is_file() and "/.metastore_" not in str(path))
        return {str(file.relative_to(self.warehouse)): file.read_text() for file in files}

    def trash(self) -> list[Path]:
        return [path for path in (self.warehouse / ".metastore_trash").rglob("*") if path.is_file()]

    def agrees(self) -> None:
        self.application.journal.recover()
        assert self.call("check_files", CheckFilesRequest()).problems == []

    def dropped(self, database: str | None = None) -> list[DroppedObject]:
        return list(self.call("dropped", DroppedRequest(database)))

    def undrop(self, name: str, partition: str | None = None, new_name: str | None = None, **more: Any) -> UndropResult:
        database, _, table_name = name.partition(".")
        request = UndropRequest(database, table_name or None, None, partition, new_name, **more)
        undrop_result: UndropResult = self.call("undrop", request)
        return undrop_result

    def expire(self) -> None:
        """Lets the retention end."""
        with self.application._store.transaction() as work:
            work.connection.execute(text("UPDATE drops SET kept_until = now()"))
        self.application.services.undrop.purge()
        self.application.journal.recover()

    def left(self) -> dict[str, int]:
        self.application.services.undrop.purge()
        tables = ["drops", "dropped_tables", "dropped_partitions", "dropped_rows"]
        with self.application._store.read() as work:
            return {
                name: count
                for name in tables
                if (count := work.connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one())
            }


def overwrite(installation: Installation, name: str, values: list[str]) -> None:
    """Overwrites as our client does."""
    query_id = installation.call("begin_write", BeginWriteRequest("db", name)).queryId
    inside = "/".join(f"{key}={value}" for (key, _), value in zip(KEYS, values, strict=False))
    directory = installation.warehouse / "db.db" / name / "_versions" / query_id / inside
    directory.mkdir(parents=True)
    (directory / "rows").write_text("new")
    entry = PublishPartition(values, PublishMode.OVERWRITE, str(directory), [])
    installation.call("publish", PublishRequest("db", name, query_id, [entry]))
