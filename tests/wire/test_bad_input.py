"""Invalid input: each call gets a typed error or the right answer, the connection continues, and no change is half
done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thrift.Thrift import TApplicationException, TType

from metastore.handlers.registry import served
from tests.fixtures.examples import examples
from tests.fixtures.server import Server, connected
from tests.wire import raw
from tests.wire.builders import columns, descriptor, new_database, new_table, partition, table
from tests.wire.fuzzer import specs_of
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import (
    AddPartitionsRequest,
    Database,
    DropPartitionsRequest,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
    RequestPartsSpec,
    Table,
)

KEYS = [("ds", "string"), ("n", "int")]
LONG = "x" * 10_000
NAMES = {
    "slashes": "a/b/../c",
    "quotes": 'it\'s "quoted" `so`',
    "newlines": "a\nb\r\n",
    "10,000 characters": LONG,
    "NUL": "a\0b",
    "a semicolon": "x; DROP TABLE tables",
    "other letters": "número_日本",
    "nothing": "",
    "blanks": "   ",
    "a percent sign": "100%_s%(x)s",
}
UNSTORABLE = {"10,000 characters", "NUL", "nothing"}  # as a partition value
Partitioned = tuple[str, str]


@pytest.fixture
def events(hive_client: Any) -> Iterator[Partitioned]:
    """A database and its table, which has six partitions."""
    database, name = new_table(hive_client, KEYS)
    new = [partition(database, name, [day, str(number)]) for day in ("a", "b") for number in (1, 2, 10)]
    assert hive_client.add_partitions(new) == 6
    yield database, name
    hive_client.drop_database(database, True, True)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_names_of_objects(hive_client: Any, events: Partitioned, name: str) -> None:
    database, _ = events
    refused = (InvalidObjectException, MetaException)
    with pytest.raises(refused):
        hive_client.create_database(Database(name=name))
    with pytest.raises(refused):
        hive_client.create_table(table(database, name))
    with pytest.raises((NoSuchObjectException, *refused)):
        hive_client.get_table(database, name)
    with pytest.raises((NoSuchObjectException, *refused)):
        hive_client.get_database(name)
    with pytest.raises((NoSuchObjectException, *refused)):
        hive_client.drop_table(name, name, True)
    renamed = hive_client.get_table(database, "t")
    renamed.tableName = name
    with pytest.raises((InvalidOperationException, *refused)):
        hive_client.alter_table(database, "t", renamed)
    assert hive_client.get_all_tables(database) == ["t"]
    with suppress(MetaException):  # a request that cannot be expressed
        assert hive_client.get_all_tables(name) == []


@pytest.mark.parametrize("kind", sorted(NAMES.keys() - UNSTORABLE))
def test_values_hold_any_text(hive_client: Any, events: Partitioned, kind: str) -> None:
    value = NAMES[kind]
    hive_client.add_partition(partition(*events, [value, "7"], parameters={"k": value}))
    stored_partition = hive_client.get_partition(*events, [value, "7"])
    assert (stored_partition.values, stored_partition.parameters["k"]) == ([value, "7"], value)
    (name,) = [
        partition_name
        for partition_name in hive_client.get_partition_names(*events, -1)
        if partition_name.endswith("n=7")
    ]
    assert hive_client.partition_name_to_vals(name) == [value, "7"]
    assert hive_client.get_partition_by_name(*events, name) == stored_partition
    assert hive_client.get_partitions_by_names(*events, [name]) == [stored_partition]
    assert hive_client.drop_partition_by_name(*events, name, True)


def test_values_that_are_too_long_or_hold_nul(hive_client: Any, events: Partitioned) -> None:
    for value in (LONG, "a\0b"):
        good = partition(*events, ["good", "1"])
        with pytest.raises((MetaException, InvalidObjectException)):
            hive_client.add_partitions([good, partition(*events, [value, "1"])])
        with pytest.raises((MetaException, NoSuchObjectException)):
            hive_client.get_partition(*events, [value, "1"])
        with pytest.raises((MetaException, InvalidObjectException)):
            hive_client.append_partition(*events, [value, "1"])
    assert len(hive_client.get_partition_names(*events, -1)) == 6


def test_texts_of_ten_thousand_characters(hive_client: Any, events: Partitioned) -> None:
    database, _ = events
    sd = descriptor(cols=columns(("a", "int")))
    sd.cols[0].comment = LONG
    hive_client.create_table(table(database, "long", parameters={LONG: LONG}, owner=LONG, sd=sd, viewOriginalText=LONG))
    stored_table = hive_client.get_table(database, "long")
    assert (stored_table.parameters[LONG], stored_table.owner, stored_table.sd.cols[0].comment) == (LONG, LONG, LONG)
    for change in ({"sd": descriptor(cols=columns((LONG, "int")))}, {"sd": descriptor(cols=columns(("a", LONG)))}):
        with pytest.raises((InvalidObjectException, MetaException)):
            hive_client.create_table(table(database, "bad", **change))
    assert hive_client.get_all_tables(database) == ["long", "t"]


def test_partitions_of_another_table(hive_client: Any, events: Partitioned) -> None:
    database, name = events
    hive_client.create_table(table(database, "other", KEYS))
    strangers = [partition(database, name, ["good", "1"]), partition(database, "other", ["c", "1"])]
    with pytest.raises(MetaException, match="does not belong"):
        hive_client.add_partitions(strangers)
    with pytest.raises(MetaException, match="does not belong"):
        hive_client.add_partitions_req(AddPartitionsRequest(database, name, strangers, False))
    for bad in (["x"], ["x", "1", "2"], [], None):
        with pytest.raises((MetaException, InvalidObjectException)):
            hive_client.add_partitions([partition(database, name, ["good", "1"]), partition(database, name, bad or [])])
    hive_client.create_table(table(database, "plain"))
    with pytest.raises((MetaException, InvalidObjectException)):
        hive_client.add_partition(partition(database, "plain", ["x"]))
    assert len(hive_client.get_partition_names(database, name, -1)) == 6
    assert hive_client.get_partition_names(database, "other", -1) == []


def test_half_of_the_requested_objects_are_missing(hive_client: Any, events: Partitioned) -> None:
    request = DropPartitionsRequest(*events, RequestPartsSpec(names=["ds=a/n=1", "ds=none/n=1"]), ifExists=False)
    with pytest.raises(NoSuchObjectException):
        hive_client.drop_partitions_req(request)
    changed = [hive_client.get_partition(*events, ["a", "1"]), partition(*events, ["none", "1"])]
    changed[0].parameters["changed"] = "yes"
    with pytest.raises(InvalidOperationException):
        hive_client.alter_partitions(*events, changed)
    assert len(hive_client.get_partition_names(*events, -1)) == 6
    assert "changed" not in hive_client.get_partition(*events, ["a", "1"]).parameters


@pytest.mark.parametrize(("maximum", "count"), [(0, 0), (-1, 6), (-32_768, 6), (1, 1), (32_767, 6)])
def test_max_parts(hive_client: Any, events: Partitioned, maximum: int, count: int) -> None:
    reads: list[Callable[[], list[Any]]] = [
        lambda: hive_client.get_partitions(*events, maximum),
        lambda: hive_client.get_partition_names(*events, maximum),
        lambda: hive_client.get_partitions_ps(*events, ["", ""], maximum),
        lambda: hive_client.get_partition_names_ps(*events, ["", ""], maximum),
        lambda: hive_client.get_partitions_with_auth(*events, maximum, "u", []),
        lambda: hive_client.get_partitions_ps_with_auth(*events, ["", ""], maximum, "u", []),
        lambda: hive_client.get_partitions_by_filter(*events, "n > 0", maximum),
    ]
    assert [len(read()) for read in reads] == [count] * len(reads)


LONG_FILTERS = {
    "a hundred thousand characters": (" or ".join(f"n = {number}" for number in range(9_000)), 6),
    "a long text": (f"ds = '{'x' * 100_000}'", 0),
    "a long number": (f"n < {'9' * 5_000}", 6),
    "a thousand brackets": ("(" * 1_000 + "n > 2" + ")" * 1_000, 2),
    "a thousand levels": ("(ds = 'a' or " * 1_000 + "n > 2" + ")" * 1_000, 4),
    "many wildcards": (f"ds like '{'%' * 5_000}'", 6),
}


@pytest.mark.parametrize("kind", LONG_FILTERS)
def test_filters_that_are_long_or_deep(hive_client: Any, events: Partitioned, kind: str) -> None:
    text, count = LONG_FILTERS[kind]
    assert len(hive_client.get_partitions_by_filter(*events, text, -1)) == count
    assert hive_client.get_num_partitions_by_filter(*events, text) == count


@pytest.mark.parametrize("piece", ["(", "n = ", "`", "((n) in (1,", "'\""])
def test_long_nonsense_is_no_filter(hive_client: Any, events: Partitioned, piece: str) -> None:
    with pytest.raises(MetaException, match="Error parsing partition filter") as refused:
        hive_client.get_partitions_by_filter(*events, piece * 99_999, -1)
    assert len(refused.value.message) < 1_000


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet="ndsaAND ORLIKEBETWEENIN()=<>!'\"\\%_-0129,`\n", max_size=40))
def test_filters_of_noise(hive_client: Any, events: Partitioned, text: str) -> None:
    with suppress(MetaException):
        assert len(hive_client.get_partitions_by_filter(*events, text, -1)) <= 6
    assert hive_client.getStatus() == 2


def test_texts_that_are_not_utf8(metastore_server: Server, hive_client: Any, events: Partitioned) -> None:
    """Invalid UTF-8 is read as U+FFFD, as in Java, and then the usual rules apply."""
    database, _ = events
    with raw.bytes_client(metastore_server) as client:
        with pytest.raises(NoSuchObjectException):
            client.get_table(database, "\udcff\udcfe")
        with pytest.raises(InvalidObjectException):
            client.create_table(table(database, "t\udcff"))
        added = client.add_partition(partition(*events, ["\udcc3(", "7"], parameters={"k\udc80": "\udcf0\udc9f"}))
        assert added.values == ["\ufffd(", "7"]
        with pytest.raises(MetaException):
            client.get_partitions_by_filter(*events, "\udcff = 1", -1)
        assert client.get_partitions_by_filter(*events, "ds = '\udcff'", -1) == []
        assert client.get_all_databases()
    stored_partition = hive_client.get_partition(*events, ["\ufffd(", "7"])
    assert stored_partition.parameters["k\ufffd"] == "\ufffd"


@pytest.mark.parametrize("protocol", raw.PROTOCOLS.values(), ids=raw.PROTOCOLS)
def test_arguments_of_wrong_types(metastore_server: Server, protocol: Any) -> None:
    client = raw.RawClient(metastore_server, protocol)
    for name, method in sorted(served().items()):
        if method.result is None:
            continue
        specs = specs_of(method.arguments)
        kinds = [raw.other(kind) for _, kind, *_ in specs]
        client.call(name, [(spec[0], kind, raw.value(kind)) for spec, kind in zip(specs, kinds, strict=True)])
        client.call(name, [(spec[0], TType.LIST, raw.list_of(raw.other(spec[1]))) for spec in specs])
    assert client.call("getStatus", []).success == 2
    client.close()


@pytest.mark.parametrize("protocol", raw.PROTOCOLS.values(), ids=raw.PROTOCOLS)
def test_elements_of_wrong_types(metastore_server: Server, protocol: Any) -> None:
    client = raw.RawClient(metastore_server, protocol)
    text = raw.value(TType.STRING)
    database = (1, TType.STRING, text), (2, TType.STRING, text)
    numbers = client.call("get_partitions_by_names", [*database, (3, TType.LIST, raw.list_of(TType.I32))])
    assert "other types than the IDL's" in numbers.o1.message
    texts = client.call("add_partitions", [(1, TType.LIST, raw.list_of(TType.STRING))])
    assert isinstance(texts.o1, InvalidObjectException | MetaException) or texts.o3
    undeclared = client.call("lock", [(1, TType.STRUCT, _components_of_texts)])
    assert isinstance(undeclared, TApplicationException)
    assert "other types than the IDL's" in undeclared.message
    assert client.call("getStatus", []).success == 2
    client.close()


def _components_of_texts(out: Any) -> None:
    out.writeStructBegin("")
    out.writeFieldBegin("", TType.LIST, 1)
    raw.list_of(TType.STRING)(out)
    out.writeFieldEnd()
    out.writeFieldStop()
    out.writeStructEnd()


def test_a_large_message_of_wrong_types_is_read_to_its_end(metastore_server: Server) -> None:
    """The message is larger than one read of the socket."""

    def numbers(out: Any) -> None:
        out.writeListBegin(TType.STRING, 50_001)
        for number in range(50_000):
            out.writeString(f"ds=a/n={number}")
        out.writeString("x" * 500_000)
        out.writeListEnd()

    client = raw.RawClient(metastore_server)
    answer = client.call("add_partitions", [(1, TType.LIST, numbers)])
    assert "other types than the IDL's" in (answer.o1 or answer.o3).message
    assert client.call("getStatus", []).success == 2
    client.close()


def test_required_fields_and_structs_may_be_missing(hive_client: Any, events: Partitioned) -> None:
    for bad in (Table(), Table(dbName=events[0]), Table(tableName="x"), Table(dbName="none", tableName="x")):
        with pytest.raises((InvalidObjectException, MetaException)):
            hive_client.create_table(bad)
    with pytest.raises((InvalidObjectException, MetaException)):
        hive_client.create_table(None)
    with pytest.raises((InvalidObjectException, MetaException)):
        hive_client.create_database(None)
    with pytest.raises(MetaException):
        hive_client.add_partition(None)
    with pytest.raises(MetaException):
        hive_client.get_table_req(None)
    assert hive_client.get_all_tables(events[0]) == ["t"]


def test_a_half_written_message_disturbs_no_other_client(metastore_server: Server) -> None:
    client = raw.RawClient(metastore_server)
    client._protocol.writeMessageBegin("get_table", 1, 1)
    client._transport.flush()
    client.close()
    with connected(metastore_server, ThriftHiveMetastore) as other:
        assert "default" in other.get_all_databases()
        assert new_database(other) in other.get_all_databases()
