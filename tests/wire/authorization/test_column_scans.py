"""Scan plans for users who may read some columns of a table: those of a table without the other columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from metastore.app import Application, make_application
from metastore.errors import ConflictError, MetastoreError, PermissionDeniedError
from metastore.settings import Settings
from tests.fixtures.application import called, counted
from tests.wire.authorization.granting import bag, everywhere, on_column, on_table
from tests.wire.authorization.test_matrix import ADMINISTRATORS, speaking
from tests.wire.builders import columns, descriptor, partition, skewed, table
from thrift_idl.gen.hive_metastore.ttypes import Database, Order, SerDeInfo, SkewedInfo, StorageDescriptor, Table
from thrift_idl.gen.metastore.ttypes import (
    BeginWriteRequest,
    PredicateNode,
    PredicateOperator,
    PublishMode,
    PublishPartition,
    PublishRequest,
    ScanRequest,
    ScanValuesRequest,
)

OPERATOR = PredicateOperator
DATABASE = "home"
ALL = columns(("a", "int"), ("salary", "int"), ("b", "string"))
SEEN = columns(("a", "int"), ("b", "string"))
TEXT = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
READERS = ("clerk", "reader")


class Twins(NamedTuple):
    """Two tables that differ only in a column that readers do not see."""

    hidden: str
    missing: str


SKEWED_BY_HIDDEN = Twins("skewed_hidden", "skewed_by_none")
CLUSTERED_BY_HIDDEN = Twins("clustered_hidden", "clustered_by_none")
SKEWED_BY_VISIBLE = Twins("skewed_visible", "skewed_alone")
CLUSTERED_BY_VISIBLE = Twins("clustered_visible", "clustered_alone")
TWINS = (SKEWED_BY_HIDDEN, CLUSTERED_BY_HIDDEN, SKEWED_BY_VISIBLE, CLUSTERED_BY_VISIBLE)


@pytest.fixture(scope="module")
def sheltered(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """A server without sockets. `clerk` may read the columns a and b; for `reader`, salary is denied."""
    url, warehouse = make_database(), str(tmp_path_factory.mktemp("sheltered"))
    application = make_application(Settings(warehouse=warehouse, database_url=url, **ADMINISTRATORS), url)
    with speaking("admin"):
        called(application, "create_database", Database(name=DATABASE, ownerName="home"))
        for twins, layout_with, layout_without in (
            (SKEWED_BY_HIDDEN, _skewed("salary", ALL), {"cols": SEEN}),
            (CLUSTERED_BY_HIDDEN, _clustered("salary", ALL), {"cols": SEEN}),
            (SKEWED_BY_VISIBLE, _skewed("a", ALL), _skewed("a", SEEN)),
            (CLUSTERED_BY_VISIBLE, _clustered("b", ALL), _clustered("b", SEEN)),
        ):
            _make(application, twins.hidden, layout_with, columns(("a", "int"), ("salary", "string")))
            _make(application, twins.missing, layout_without, SEEN[:1])
    yield application
    application.close()


def _skewed(column: str, cols: Any) -> dict[str, Any]:
    return {"cols": cols, "storedAsSubDirectories": True, "skewedInfo": skewed([column], [["1"], ["2"]])}


def _clustered(column: str, cols: Any) -> dict[str, Any]:
    serde = SerDeInfo(
        serializationLib=descriptor().serdeInfo.serializationLib,
        parameters={"serialization.format": "1"} | ({"bloom.filter.columns": "salary"} if cols is ALL else {}),
    )
    order = [Order(column, 1), Order("a", 1)]
    return {"cols": cols, "bucketCols": [column], "numBuckets": 4, "sortCols": order, "serdeInfo": serde}


def _make(application: Application, name: str, layout: dict[str, Any], old: Any) -> None:
    """Creates a table with four partitions: with one directory of a skewed value, with two, and with older columns."""
    whole = descriptor(f"file:/w/{name}", **layout)
    called(
        application,
        "create_table",
        _external(name, whole),
    )
    for number in (1, 2):
        sd = descriptor(f"file:/w/{name}/ds={number}", **layout)
        if info := layout.get("skewedInfo"):
            (column,) = info.skewedColNames
            places = {(value,): f"{sd.location}/{column}={value}" for value in ("1", "2")[:number]}
            sd.skewedInfo = SkewedInfo(info.skewedColNames, info.skewedColValues, places)
        called(application, "add_partition", partition(DATABASE, name, [str(number)], sd=sd))
    for number, cols in ((8, old), (9, SEEN[:1])):
        sd = descriptor(f"file:/w/{name}/ds={number}", cols=cols)
        called(application, "add_partition", partition(DATABASE, name, [str(number)], sd=sd))
    let_read(application, name)


def _external(name: str, sd: StorageDescriptor) -> Table:
    fields: dict[str, Any] = {"tableType": "EXTERNAL_TABLE", "parameters": {"EXTERNAL": "TRUE"}, "owner": "owner"}
    return table(DATABASE, name, [("ds", "int")], sd=sd, **fields)


def let_read(application: Application, name: str) -> None:
    """Lets the readers read a and b, and `all` everything."""
    with speaking("admin"):
        called(application, "grant_privileges", bag(on_table(DATABASE, name), "ALL", "all"))
        called(application, "grant_privileges", bag(on_table(DATABASE, name), "SELECT", "reader"))
        for column in ("a", "b"):
            called(application, "grant_privileges", bag(on_column(DATABASE, name, column), "SELECT", "clerk"))
        denied = everywhere(f"{DATABASE}.{name}.salary")
        called(application, "grant_privileges", bag(denied, "DENY SELECT", "reader"))


def plan(application: Application, user: str, name: str, nodes: list[PredicateNode]) -> str:
    """Returns the plan of a scan as a text, or the error."""
    return _told(application, user, name, "plan_scan", ScanRequest(DATABASE, name, nodes))


def _told(application: Application, user: str, name: str, method: str, request: Any) -> str:
    """Returns the answer as a text without the table's name, its versions, and the token of its writes."""
    with speaking(user):
        try:
            text = repr(called(application, method, request))
        except MetastoreError as error:
            text = f"{type(error).__name__} {error}"
    return re.sub(r"(ersion=)\d+|(writeToken=)'\w+'", r"\1\2#", text.replace(name, "…"))


def leaves() -> st.SearchStrategy[list[PredicateNode]]:
    names = st.sampled_from(["a", "salary", "missing", "SALARY", "b", "ds"])
    values = st.lists(st.sampled_from(["1", "2", "8", "x", "\0"]), min_size=0, max_size=3)
    operators = st.sampled_from([7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 99])
    return st.builds(lambda *fields: [PredicateNode(*fields)], operators, names, values)


def trees() -> st.SearchStrategy[list[PredicateNode]]:
    """Predicates in postfix order, some of them malformed."""
    return st.recursive(
        leaves(),
        lambda inner: st.one_of(
            st.builds(lambda child: [*child, PredicateNode(OPERATOR.NOT)], inner),
            st.builds(
                lambda op, left, right: [*left, *right, PredicateNode(op, operands=2)],
                st.sampled_from([OPERATOR.AND, OPERATOR.OR]),
                inner,
                inner,
            ),
        ),
        max_leaves=5,
    )


def renamed(nodes: list[PredicateNode]) -> list[PredicateNode]:
    """Replaces the hidden column by one that does not exist."""
    names = {"salary": "wages_", "SALARY": "WAGES_"}
    return [PredicateNode(node.op, names.get(node.column, node.column), node.values, node.operands) for node in nodes]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(trees(), st.sampled_from(READERS))
@example([PredicateNode(OPERATOR.EQUAL, "salary", ["1"])], "clerk")
@example([PredicateNode(OPERATOR.EQUAL, "salary", ["3"])], "reader")
@example([], "clerk")
def test_a_hidden_column_changes_no_plan(sheltered: Application, nodes: list[PredicateNode], user: str) -> None:
    for twins in TWINS:
        hidden = plan(sheltered, user, twins.hidden, nodes)
        assert hidden == plan(sheltered, user, twins.missing, nodes)
        assert hidden.replace("salary", "wages_").replace("SALARY", "WAGES_") == plan(
            sheltered, user, twins.hidden, renamed(nodes)
        )


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(trees(), st.sampled_from(READERS), st.sampled_from(["ds", "a", "salary", "missing"]))
def test_a_hidden_column_changes_no_values(
    sheltered: Application, nodes: list[PredicateNode], user: str, column: str
) -> None:
    answers = [
        _told(sheltered, user, name, "scan_values", ScanValuesRequest(ScanRequest(DATABASE, name, nodes), [column]))
        for name in SKEWED_BY_HIDDEN
    ]
    assert _without_state(answers[0]) == _without_state(answers[1])


def _without_state(text: str) -> str:
    return text.partition("state=")[0]


@pytest.mark.parametrize("user", READERS)
def test_the_plan_has_all_fields_that_a_reader_needs(sheltered: Application, user: str) -> None:
    with speaking(user):
        read = called(sheltered, "plan_scan", ScanRequest(DATABASE, SKEWED_BY_HIDDEN.hidden, []))
        kept = called(sheltered, "plan_scan", ScanRequest(DATABASE, SKEWED_BY_HIDDEN.hidden, [equal("ds", "2")]))
    directories = {each.values[0]: [one.location for one in each.directories] for each in read.partitions}
    assert directories == {
        number: [f"file:/w/{SKEWED_BY_HIDDEN.hidden}/ds={number}"] for number in ("1", "2", "8", "9")
    }
    assert {column.name for storage in read.storages for column in storage.columns} == {"a", "b"}
    assert [each.values for each in kept.partitions] == [["2"]]
    assert "salary" not in repr(read)


@pytest.mark.parametrize("user", [*READERS, "all"])
def test_directories_of_visible_values_are_pruned(sheltered: Application, user: str) -> None:
    with speaking(user):
        read = called(sheltered, "plan_scan", ScanRequest(DATABASE, SKEWED_BY_VISIBLE.hidden, [equal("a", "2")]))
    directories = {each.values[0]: [one.location[-3:] for one in each.directories] for each in read.partitions}
    assert directories == {"1": [], "2": ["a=2"], "8": ["s=8"], "9": ["s=9"]}


@pytest.mark.parametrize("user", READERS)
def test_buckets_of_visible_columns_are_returned(sheltered: Application, user: str) -> None:
    with speaking(user):
        read = called(sheltered, "plan_scan", ScanRequest(DATABASE, CLUSTERED_BY_VISIBLE.hidden, []))
        hidden = called(sheltered, "plan_scan", ScanRequest(DATABASE, CLUSTERED_BY_HIDDEN.hidden, []))
        described = called(sheltered, "get_table", DATABASE, CLUSTERED_BY_HIDDEN.hidden).decode().sd
    assert ([column.name for column in read.buckets.columns], read.buckets.count) == (["b"], 4)
    assert (hidden.buckets, {storage.numBuckets for storage in hidden.storages}) == (None, {-1})
    assert (described.bucketCols, described.numBuckets, described.sortCols) == ([], -1, [])


def test_only_readers_of_columns_pay_for_them(sheltered: Application) -> None:
    costs = {}
    for user in ("admin", "all", "clerk"):
        for _ in range(2):
            with speaking(user), counted(sheltered) as statements:
                called(sheltered, "plan_scan", ScanRequest(DATABASE, SKEWED_BY_HIDDEN.hidden, []))
            costs[user] = len(statements)
    assert costs["all"] == costs["admin"] + 2  # version and rights
    assert costs["clerk"] > costs["all"]


def test_directories_of_hidden_values_outside_of_the_partition_are_not_named(sheltered: Application) -> None:
    name = "outside"
    info = skewed(["salary"], [["1"]])
    layout: dict[str, Any] = {"cols": ALL, "storedAsSubDirectories": True}
    with speaking("admin"):
        whole = descriptor(f"file:/w/{name}", **layout, skewedInfo=info)
        called(
            sheltered,
            "create_table",
            _external(name, whole),
        )
        info = skewed(["salary"], [["1"]])
        info.skewedColValueLocationMaps = {("1",): "file:/elsewhere/salary=1"}
        for number, fields in (("1", {**layout, "skewedInfo": info}), ("2", layout)):
            sd = descriptor(f"file:/w/{name}/ds={number}", **fields)
            called(sheltered, "add_partition", partition(DATABASE, name, [number], sd=sd))
    let_read(sheltered, name)
    for user in READERS:
        with speaking(user):
            assert called(sheltered, "plan_scan", ScanRequest(DATABASE, name, [equal("ds", "2")])).partitions
            with pytest.raises(PermissionDeniedError, match=r"does not have \[SELECT\] privilege on \[home/outside\]$"):
                called(sheltered, "plan_scan", ScanRequest(DATABASE, name, []))


def test_a_writer_sees_all_columns(sheltered: Application) -> None:
    """Otherwise the rows of a rewritten file, or an altered partition, would lose the hidden columns."""
    name = "written"
    with speaking("admin"):
        called(sheltered, "create_table", _external(name, descriptor(f"file:/w/{name}", cols=ALL)))
    let_read(sheltered, name)
    with speaking("admin"):
        called(sheltered, "grant_privileges", bag(on_table(DATABASE, name), "INSERT", "reader"))
        called(sheltered, "grant_privileges", bag(on_table(DATABASE, name), "INSERT", "feeder"))
    for user in ("feeder", "all"):
        with speaking(user):
            assert called(sheltered, "begin_write", BeginWriteRequest(DATABASE, name)).queryId
    entry = PublishPartition(["1"], PublishMode.CREATE, f"file:/w/{name}/ds=1", [])
    calls: dict[str, tuple[Any, ...]] = {
        "begin_write": (BeginWriteRequest(DATABASE, name),),
        # Older clients publish without a registered write.
        "publish": (PublishRequest(DATABASE, name, "20260131_235959_00007_x7k2p", [entry]),),
        "alter_partition": (DATABASE, name, partition(DATABASE, name, ["1"], sd=descriptor(cols=ALL))),
    }
    for method, arguments in calls.items():
        with (
            speaking("reader"),
            pytest.raises(PermissionDeniedError, match=r"does not have \[INSERT\] privilege on \[home/written\]$"),
        ):
            called(sheltered, method, *arguments)
    for method, arguments in calls.items():
        with speaking("feeder"):
            called(sheltered, method, *arguments)


def test_columns_after_a_hidden_one_are_hidden_in_text_files(sheltered: Application) -> None:
    """Engines that miss the second column would read its values as those of the third."""
    name = "lines"
    sd = descriptor(f"file:/w/{name}", cols=ALL, serdeInfo=SerDeInfo(serializationLib=TEXT, parameters={}))
    with speaking("admin"):
        called(
            sheltered,
            "create_table",
            _external(name, sd),
        )
        called(sheltered, "add_partition", partition(DATABASE, name, ["1"], sd=sd))
    let_read(sheltered, name)
    for user in READERS:
        with speaking(user):
            found = called(sheltered, "get_table", DATABASE, name).decode()
            assert [column.name for column in found.sd.cols] == ["a"]
            assert [column.name for column in called(sheltered, "get_fields", DATABASE, name)] == ["a"]
            (storage,) = called(sheltered, "plan_scan", ScanRequest(DATABASE, name, [])).storages
            assert [column.name for column in storage.columns] == ["a"]
            (part,) = _decoded(called(sheltered, "get_partitions", DATABASE, name, -1))
            assert [column.name for column in part.sd.cols] == ["a"]


def test_text_partitions_have_an_order_of_their_own(sheltered: Application) -> None:
    """In a partition that is older than the order of the table's columns, a hidden one may be first."""
    name = "reordered"
    text = SerDeInfo(serializationLib=TEXT, parameters={})
    with speaking("admin"):
        sd = descriptor(f"file:/w/{name}", cols=columns(("a", "int"), ("b", "string"), ("salary", "int")))
        called(sheltered, "create_table", _external(name, sd))
        for number, cols in (("1", columns(("salary", "int"), ("a", "int"))), ("2", columns(("a", "int")))):
            old = descriptor(f"file:/w/{name}/ds={number}", cols=cols, serdeInfo=text)
            called(sheltered, "add_partition", partition(DATABASE, name, [number], sd=old))
    let_read(sheltered, name)
    for user in READERS:
        with speaking(user):
            old, new = _decoded(called(sheltered, "get_partitions", DATABASE, name, -1))
            assert ([each.name for each in old.sd.cols], [each.name for each in new.sd.cols]) == ([], ["a"])
            scan = ScanRequest(DATABASE, name, [equal("ds", "2")])
            assert [each.values for each in called(sheltered, "plan_scan", scan).partitions] == [["2"]]
            with pytest.raises(PermissionDeniedError, match="SELECT"):
                called(sheltered, "plan_scan", ScanRequest(DATABASE, name, []))


def test_parameters_of_the_format_stay_with_any_names_of_hidden_columns(sheltered: Application) -> None:
    name = "wordy"
    hidden = ("version", "field", "count", "external", "provider")
    text = SerDeInfo(serializationLib=TEXT, parameters={"field.delim": ",", "field.note": "x"})
    cols = columns(("a", "int"), *((each, "int") for each in hidden))
    sd = descriptor(f"file:/w/{name}", cols=cols, serdeInfo=text, bucketCols=["a"], numBuckets=4)
    parameters = {
        "EXTERNAL": "TRUE",
        "bucketing_version": "2",
        "skip.header.line.count": "1",
        "spark.sql.sources.provider": "hive",
    }
    made = _external(name, sd)
    made.parameters = {**parameters, "greatest.version": "9"}
    with speaking("admin"):
        called(sheltered, "create_table", made)
        called(sheltered, "add_partition", partition(DATABASE, name, ["1"], sd=sd))
        called(sheltered, "grant_privileges", bag(on_column(DATABASE, name, "a"), "SELECT", "clerk"))
    with speaking("clerk"):
        found = called(sheltered, "get_table", DATABASE, name).decode()
        read = called(sheltered, "plan_scan", ScanRequest(DATABASE, name, []))
    assert found.parameters.items() >= parameters.items()
    assert "greatest.version" not in found.parameters
    assert found.sd.serdeInfo.parameters == {"field.delim": ","}
    assert [each.serdeParameters for each in read.storages] == [{"field.delim": ","}]
    assert read.buckets.bucketingVersion == "2"


def _decoded(answer: Any) -> Any:
    return answer.decode() if hasattr(answer, "decode") else answer


def test_a_state_is_checked_for_readers_of_columns(sheltered: Application) -> None:
    scan = ScanRequest(DATABASE, SKEWED_BY_HIDDEN.hidden, [])
    with speaking("clerk"):
        state = called(sheltered, "scan_values", ScanValuesRequest(scan, ["ds"])).state
        assert called(sheltered, "plan_scan", ScanRequest(*_names(scan), state=state)).partitions
        with pytest.raises(ConflictError):
            called(sheltered, "plan_scan", ScanRequest(*_names(scan), state="another"))


def _names(scan: ScanRequest) -> tuple[str, str, list[PredicateNode]]:
    return scan.dbName, scan.tableName, []


def equal(column: str, value: str) -> PredicateNode:
    return PredicateNode(OPERATOR.EQUAL, column, [value])
