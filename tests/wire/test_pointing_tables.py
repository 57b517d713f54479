"""External tables and partitions that point into the directory of another table, such as those that signal complete
days: the other table owns its files, and is written, moved and dropped as if nothing pointed there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from metastore.errors import InvalidOperationError
from tests.wire.builders import descriptor, partition, table
from tests.wire.undrop_installation import KEYS, PURGE, Installation, overwrite
from thrift_idl.gen.hive_metastore.ttypes import Database
from thrift_idl.gen.metastore.ttypes import (
    BeginWriteRequest,
    CleanRequest,
    PublishMode,
    PublishPartition,
    PublishRequest,
    Rename,
    RenewWriteRequest,
)

pytestmark = pytest.mark.slow

EXTERNAL: dict[str, Any] = {"tableType": "EXTERNAL_TABLE", "parameters": {"EXTERNAL": "TRUE"}}
PURGED: dict[str, Any] = {
    "tableType": "EXTERNAL_TABLE",
    "parameters": {"EXTERNAL": "TRUE", "external.table.purge": "true"},
}
POINTED = ("", "/ds=1", "/ds=1/hr=1", "/ds=1/hr=1/x=heavy", "/ds=3/hr=1")
OTHER_DATABASE = "partition of another database"
WAYS = [*(("partition", below) for below in POINTED), ("table", "/ds=1"), ("table", ""), (OTHER_DATABASE, "/ds=1")]


@pytest.fixture
def installation(database_url: str, tmp_path: Path) -> Iterator[Installation]:
    installation = Installation(database_url, tmp_path, drop_retention=3600)
    yield installation
    installation.application.close()


def pointing(installation: Installation, way: str, location: str, kind: dict[str, Any] = EXTERNAL) -> tuple[str, str]:
    """Creates a table that points at a location, itself or with its partition. Returns its names."""
    database = "other" if way == OTHER_DATABASE else "db"
    if database == "other":
        installation.call("create_database", Database("other"))
    if way == "table":
        installation.call("create_table", table(database, "pointing", sd=descriptor(location), **kind))
        return database, "pointing"
    installation.call("create_table", table(database, "pointing", KEYS[:1], **kind))
    installation.call("add_partition", partition(database, "pointing", ["1"], sd=descriptor(location)))
    return database, "pointing"


@pytest.fixture(params=WAYS, ids=str)
def pointed(installation: Installation, request: pytest.FixtureRequest) -> Installation:
    way, below = request.param
    pointing(installation, way, f"{installation.warehouse}/db.db/days{below}")
    return installation


def rows(installation: Installation) -> set[str]:
    return {path for path in installation.disk() if path.startswith("db.db/days/")}


def test_the_table_is_written(pointed: Installation) -> None:
    root = f"{pointed.warehouse}/db.db/days"
    query_id = pointed.call("begin_write", BeginWriteRequest("db", "days")).queryId
    for day, hour in (("1", "25"), ("3", "1")):
        place = Path(f"{root}/ds={day}/hr={hour}")
        moved = Rename(f"{root}/_staging/{query_id}/ds={day}/hr={hour}/part-0", f"{place}/part-0")
        pointed.call("renew_write", RenewWriteRequest(query_id, [], shared=[f"{place}"], renames=[moved]))
        place.mkdir(parents=True, exist_ok=True)
        (place / "part-0").write_text("new")
    entries = [
        PublishPartition([day, hour], PublishMode.CREATE, f"{root}/ds={day}/hr={hour}", [])
        for day, hour in (("1", "25"), ("3", "1"))
    ]
    pointed.call("publish", PublishRequest("db", "days", query_id, entries))
    pointed.call("append_partition", "db", "days", ["1", "26"])
    overwrite(pointed, "days", ["1", "1"])
    assert pointed.call("get_partition_names", "db", "days", -1).decode() == [
        *("ds=1/hr=1", "ds=1/hr=2", "ds=1/hr=25", "ds=1/hr=26", "ds=2/hr=1", "ds=2/hr=2", "ds=3/hr=1")
    ]
    pointed.agrees()


def test_its_partitions_and_itself_are_truncated(pointed: Installation) -> None:
    pointed.call("truncate_table", "db", "days", ["ds=1/hr=1"])
    assert rows(pointed) == {path for path in rows(pointed) if "ds=1/hr=1" not in path}
    pointed.call("truncate_table", "db", "days", None)
    assert rows(pointed) == set()
    pointed.undrop("db.days")
    pointed.undrop("db.days")
    assert len(rows(pointed)) == 8


def test_its_partition_and_itself_are_renamed(pointed: Installation) -> None:
    one = pointed.call("get_partition", "db", "days", ["1", "1"])
    one = one.decode() if hasattr(one, "decode") else one
    one.values = ["3", "2"]
    pointed.call("rename_partition", "db", "days", ["1", "1"], one)
    assert "db.db/days/ds=3/hr=2/rows" in rows(pointed)
    renamed = pointed.call("get_table", "db", "days").decode()
    renamed.tableName = "hours"
    pointed.call("alter_table", "db", "days", renamed)
    assert len(pointed.disk()) == 9
    assert rows(pointed) == set()
    pointed.application.journal.recover()


def test_its_partition_and_itself_are_dropped(pointed: Installation) -> None:
    before = rows(pointed)
    pointed.call("drop_partition", "db", "days", ["1", "1"], True)
    assert rows(pointed) == {path for path in before if "ds=1/hr=1" not in path}
    pointed.undrop("db.days")
    assert rows(pointed) == before
    pointed.call("drop_table", "db", "signal", True)
    pointed.call("drop_table", "db", "days", True)
    assert rows(pointed) == set()
    pointed.undrop("db.days")
    assert rows(pointed) == before
    pointed.call("drop_table_with_environment_context", "db", "days", True, PURGE)
    assert rows(pointed) == set()
    try:
        pointed.call("create_table", table("db", "days", KEYS))
    except InvalidOperationError as error:  # an external table, or a partition of one, is exactly there
        assert "is used by another table or partition" in str(error)  # noqa: PT017
        return
    pointed.call("append_partition", "db", "days", ["1", "1"])
    assert rows(pointed) == set()  # the next table of this name does not show former rows


def test_its_database_is_dropped(pointed: Installation) -> None:
    before = pointed.disk()
    pointed.call("drop_database", "db", True, True)
    assert pointed.disk() == {}
    pointed.undrop("db")
    assert pointed.disk() == before


def test_its_partitions_move_to_another_table(pointed: Installation) -> None:
    pointed.call("create_table", table("db", "target", KEYS, sd=pointed.call("get_table", "db", "days").decode().sd))
    target = pointed.call("get_table", "db", "target").decode()
    target.sd.location = f"{pointed.warehouse}/db.db/target"
    pointed.call("alter_table", "db", "target", target)
    pointed.call("exchange_partition", {"ds": "2"}, "db", "days", "db", "target")
    assert "db.db/target/ds=2/hr=1/rows" in pointed.disk()


@pytest.mark.parametrize("kind", [EXTERNAL, PURGED], ids=("external", "purged"))
@pytest.mark.parametrize(("way", "below"), WAYS)
def test_nothing_is_deleted_through_the_pointing_table(
    installation: Installation, way: str, below: str, kind: dict[str, Any]
) -> None:
    before = rows(installation)
    names = pointing(installation, way, f"{installation.warehouse}/db.db/days{below}", kind)
    refused: list[Callable[[], object]] = [
        lambda: installation.call("truncate_table", *names, None),
        lambda: installation.call("truncate_table", *names, ["ds=1"] if way != "table" else None),
    ]
    for call in refused:
        with pytest.raises(InvalidOperationError, match="Cannot truncate"):
            call()
    if way != "table":
        installation.call("drop_partition", *names, ["1"], True)
        location = f"{installation.warehouse}/db.db/days{below}"
        installation.call("add_partition", partition(*names, ["1"], sd=descriptor(location)))
    installation.call("drop_table_with_environment_context", *names, True, PURGE)
    installation.call("clean", CleanRequest(graceMillis=0))
    installation.application.journal.recover()
    assert rows(installation) == before
