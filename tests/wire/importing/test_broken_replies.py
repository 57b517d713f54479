"""Objects that a source cannot return through Thrift, or that this server cannot store, are named and left out."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metastore.client.errors import MetastoreRefusedError
from metastore.domain.names import DatabaseName
from metastore.errors import UnavailableError
from metastore.importing.copier import Copier, Request
from metastore.importing.plan import make_plan
from metastore.importing.sources import thrift_calls
from metastore.importing.sources.broken import BROKEN, UNKNOWN_PRINCIPAL, UNREADABLE
from metastore.importing.sources.objects import Selection
from metastore.importing.sources.thrift_source import ThriftSource
from metastore.storage.importing.imports import Finding
from metastore.warehouse.roots import Roots
from tests.fixtures.server import running
from tests.unit.importing.serving import Serving
from tests.wire.builders import descriptor, partition
from tests.wire.importing.followers import follower
from tests.wire.importing.moving import compared, opened
from thrift_idl.gen.hive_metastore import ttypes as hive

ODD = "thrift://odd:9083"
USER = hive.PrincipalType.USER
HUGE = "".join(
    f"{number:05}" for number in random.Random(1).sample(range(10**5), 2_000)
)  # no index of PostgreSQL holds it


def column(name: str) -> hive.ColumnStatisticsObj:
    return hive.ColumnStatisticsObj(
        name, "int", hive.ColumnStatisticsData(longStats=hive.LongColumnStatsData(1, 2, 0, 2))
    )


class Odd(Serving):
    """A source with a valid and a broken object of each kind. Like Hive's server, it fails as a whole where it meets
    one of some kinds."""

    def get_all_databases(self) -> list[str]:
        return ["nameless", "sales", "unreadable"]

    def get_database(self, name: str) -> hive.Database:
        if name == "unreadable":
            raise MetastoreRefusedError("Internal error processing get_database")
        return hive.Database(None if name == "nameless" else name, "d", f"file:/w/{name}.db", {}, None, "o", 9)

    def get_all_tables(self, name: str) -> list[str]:
        return ["", "logs"] if name == "sales" else []

    def get_all_functions(self) -> hive.GetAllFunctionsResponse:
        raise MetastoreRefusedError("Internal error processing get_all_functions")

    def get_functions(self, database: str, _: str) -> list[str]:
        return ["f", "broken", "rejected"] if database == "sales" else []

    def get_function(self, database: str, name: str) -> hive.Function:
        if name == "rejected":
            raise MetastoreRefusedError("No enum constant")
        owner = None if name == "broken" else database
        return hive.Function(name, owner, "C", "o", USER, 1, hive.FunctionType.JAVA, [])

    def get_table_statistics_req(self, request: Any) -> hive.TableStatsResult:
        if "x" in request.colNames:
            raise MetastoreRefusedError("NumberFormatException")
        return hive.TableStatsResult([column(name) for name in request.colNames])

    def get_partition_names(self, *_: Any) -> list[str]:
        return ["ds=1", "ds=2", f"ds={HUGE}", "ds=bad", "ds=rejected"]

    def get_partitions_by_names(self, _: str, __: str, names: list[str]) -> list[hive.Partition]:
        if "ds=rejected" in names:
            raise MetastoreRefusedError("Internal error processing get_partitions_by_names")
        made = [
            partition("sales", "logs", [name[3:]], sd=descriptor(f"file:/w/sales.db/logs/{name[:9]}")) for name in names
        ]
        for one in made:
            one.values = None if one.values == ["bad"] else one.values
        return made

    def get_partitions_statistics_req(self, request: Any) -> hive.PartitionsStatsResult:
        if "ds=2" in request.partNames and "x" in request.colNames:
            raise MetastoreRefusedError("NumberFormatException")
        return hive.PartitionsStatsResult(
            {
                name: [column("a"), hive.ColumnStatisticsObj("b")] if name == "ds=1" else [column("a")]
                for name in request.partNames
                if name in ("ds=1", "ds=2") and "a" in request.colNames
            }
        )

    def get_indexes(self, *_: Any) -> list[hive.Index]:
        valid = hive.Index("i", "C", "sales", "logs", 1, 1, "logs", descriptor(), {}, False)
        return [valid, hive.Index(None, "C", "sales", "logs", 1, 1, "logs", descriptor(), {}, False)]

    def get_primary_keys(self, *_: Any) -> hive.PrimaryKeysResponse:
        key = hive.SQLPrimaryKey("sales", "logs", "a", 1, "pk", True, True, True, "hive")
        return hive.PrimaryKeysResponse([key, hive.SQLPrimaryKey("sales", "logs", "b", 1, None)])

    def get_role_names(self) -> list[str]:
        return ["analysts", "", HUGE]

    def get_principals_in_role(self, request: Any) -> hive.GetPrincipalsInRoleResponse:
        members = [("bob", USER), (None, USER), ("zoe", 7)] if request.roleName == "analysts" else []
        grants = [hive.RolePrincipalGrant("analysts", name, kind, False, 1, "admin", USER) for name, kind in members]
        return hive.GetPrincipalsInRoleResponse(grants)

    def list_privileges(self, principal: str | None, _: Any, target: Any) -> list[hive.HiveObjectPrivilege]:
        if target.objectName != "logs":
            return []
        ref = hive.HiveObjectRef(hive.HiveObjectType.TABLE, "sales", "logs", None, None, "hive")
        return [
            hive.HiveObjectPrivilege(ref, name, kind, hive.PrivilegeGrantInfo(right, 1, "admin", USER, False), "SQL")
            for name, kind, right in (("bob", USER, "SELECT"), (None, USER, "INSERT"), ("zoe", 7, "SELECT"))
        ]

    def get_next_notification(self, request: Any) -> hive.NotificationEventResponse:
        texts = ("sales", "logs", '{"db": "sales"}', "json-0.2", "hive")
        events = [
            hive.NotificationEvent(1, 1, "CREATE_TABLE", *texts),
            hive.NotificationEvent(2, 1, None, *texts),
        ]
        return hive.NotificationEventResponse([one for one in events if one.eventId > request.lastEvent])


KEYS = {
    BROKEN: {
        "database nameless",
        "function sales.broken",
        "column statistics of sales.logs/ds=1.b",
        "indexes of sales.logs: C sales logs logs",
        "primary keys of sales.logs: sales logs b",
        "roles",
        "members of the role analysts: analysts admin",
        "privilege: sales logs hive INSERT",
        "event 2 (None sales.logs)",
    },
    UNREADABLE: {
        "database unreadable",
        "table without a name in sales",
        "function sales.rejected",
        "column statistics of sales.logs.x",
        "column statistics of sales.logs/ds=2.x",
        "sales.logs/ds=bad",
        "sales.logs/ds=rejected",
    },
    UNKNOWN_PRINCIPAL: {
        "database sales",
        "members of the role analysts: analysts zoe admin",
        "privilege: sales logs hive zoe",
    },
}
REJECTED_HERE = {f"partitions: sales.logs/ds={HUGE}", f"roles: {HUGE}"}


def by_kind(findings: list[Finding]) -> dict[str, set[str]]:
    return {kind: {one.object for one in findings if one.kind == kind} for kind in KEYS}


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> Callable[[], ThriftSource]:
    connect = thrift_calls.connect
    monkeypatch.setattr(
        thrift_calls, "connect", lambda address, **options: Odd() if address == ODD else connect(address, **options)
    )
    return lambda: ThriftSource(ODD)


def test_objects_that_cannot_be_read_are_planned_and_left_out(
    source: Callable[[], ThriftSource], database_url: str
) -> None:
    planned = by_kind(list(make_plan(source(), None, Roots("/ours"), Selection()).survey.findings))
    assert planned == KEYS
    with opened(database_url) as store:
        with pytest.raises(UnavailableError, match=r"odd:9083: event 2 .* has no valid eventType\. .* --skip-broken"):
            Copier(source(), store, Request()).run()
        for _ in range(2):  # the second run compares
            state = Copier(source(), store, Request(skips_broken=True)).run()
        with store.read() as work:
            found = by_kind(work.imports.findings(state.id))
            state = work.imports.all()[0]
    assert found == KEYS | {BROKEN: KEYS[BROKEN] | REJECTED_HERE}
    expected = {
        "databases": 1,
        "tables": 1,
        "partitions": 2,
        "functions": 1,
        "indexes": 1,
        "roles": 1,
        "grants of roles": 1,
        "privileges": 1,
        "events": 1,
        "statistics of tables": 1,
        "statistics of partitions": 2,
    }
    assert {kind: state.counts.get(kind) for kind in expected} == expected


def test_a_comparison_and_a_follower_leave_broken_objects_out(
    source: Callable[[], ThriftSource], database_url: str, tmp_path: Path
) -> None:
    with opened(database_url) as store:
        Copier(source(), store, Request(skips_broken=True)).run()
    for _ in range(2):
        with running(database_url, tmp_path) as server:
            outcome = compared(ODD, server.uri, Selection(frozenset([DatabaseName("hive", "sales")])))
        missing = {(one.kind, one.object.removeprefix("sales.logs/ds=")) for one in outcome.differences}
        assert missing == {("partition", HUGE), ("roles", HUGE)}  # this server cannot store them
        assert {one.object for one in outcome.broken} >= KEYS[BROKEN] - {
            "database nameless",
            "event 2 (None sales.logs)",
        }
        with follower(ODD, database_url) as one:
            one.catch_up(whole=True)
