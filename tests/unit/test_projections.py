"""Projections of structs, and partitions grouped into specs: nothing is lost on the way there and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.encoding.binary import EncodedList, EncodedStruct, encode_fields
from metastore.errors import InvalidInputError
from metastore.services.rules.partition_grouping import as_list, grouped, ungrouped
from metastore.services.rules.projections import like, projected, tree_of
from metastore.storage.mapping.layout import decoded_with_id
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, Partition, SerDeInfo, SkewedInfo, StorageDescriptor, Table

TABLE = Table("t", "d", sd=StorageDescriptor(location="file:/w/t"), catName="hive")
LOCATIONS = st.sampled_from(["file:/w/t/x", "file:/w/t/ds=a%2F/n=1", "file:/w/tx", "file:/w/t", None])


@st.composite
def partitions(draw: st.DrawFn) -> list[Partition]:
    """Generates partitions of a few shapes, inside and outside of the table's directory, with distinct values."""
    actual = []
    for number in range(draw(st.integers(0, 6))):
        skew = SkewedInfo([], [], draw(st.sampled_from([{}, {("1",): "file:/w/t/a=1"}])))
        columns = [FieldSchema(draw(st.sampled_from("ab")), "int", None)]
        sd = StorageDescriptor(columns, draw(LOCATIONS), skewedInfo=skew, serdeInfo=SerDeInfo(parameters={}))
        parameters = draw(st.dictionaries(st.text("k", max_size=2), st.text(max_size=2), max_size=2))
        actual.append(Partition([str(number)], "d", "t", number, 0, sd, parameters, catName="hive"))
    return actual


def normal(partition: Partition) -> tuple[Any, ...]:
    sd = partition.sd
    return (partition.values, partition.createTime, partition.parameters, sd.cols, sd.location, str(sd.skewedInfo))


@given(partitions())
def test_grouped_and_ungrouped_are_the_same(given_partitions: list[Partition]) -> None:
    shaped = [(str(each.sd.cols), each) for each in given_partitions]
    specs = grouped(TABLE, shaped)
    restored = [partition for spec in specs for partition in ungrouped(spec)]
    by_number = sorted(restored, key=lambda each: int(each.values[0]))
    assert [normal(each) for each in by_number] == [normal(each) for each in given_partitions]
    assert {(each.dbName, each.tableName) for each in restored} <= {("d", "t")}


@given(partitions())
def test_a_list_is_spliced_from_bytes(given_partitions: list[Partition]) -> None:
    encoded = EncodedList(
        Partition, [encode_fields(partition) for partition in given_partitions], [b"\0"] * len(given_partitions)
    )
    (spec,) = as_list(TABLE, encoded).decode()
    assert (spec.dbName, spec.tableName, spec.rootPath, spec.catName) == ("d", "t", "file:/w/t", "hive")
    assert spec.partitionList.partitions == given_partitions


FIELDS = [
    "values",
    "createTime",
    "parameters",
    "sd",
    "sd.location",
    "sd.cols",
    "sd.cols.name",
    "sd.serdeInfo.parameters",
]


@given(st.lists(st.sampled_from(FIELDS), min_size=1))
def test_a_projection_has_only_the_requested_fields(names: list[str]) -> None:
    sd = StorageDescriptor([FieldSchema("a", "int", "c")], "l", serdeInfo=SerDeInfo("n", "lib", {"k": "v"}))
    whole = Partition(["1"], "d", "t", 5, 0, sd, {"p": "q"})
    part = projected(whole, tree_of(Partition, names))

    def asked(path: str) -> bool:
        return any(path == name or path.startswith(name + ".") for name in names)

    assert part.dbName is None
    assert part.values == (["1"] if asked("values") else None)
    assert part.parameters == ({"p": "q"} if asked("parameters") else None)
    below = part.sd or StorageDescriptor()
    assert below.location == ("l" if asked("sd.location") else None)
    columns = [(col.name, col.type) for col in below.cols or []]
    name, kind = "a" if asked("sd.cols.name") else None, "int" if asked("sd.cols") else None
    assert columns == ([(name, kind)] if name else [])
    serde = below.serdeInfo or SerDeInfo()
    assert serde.parameters == ({"k": "v"} if asked("sd.serdeInfo.parameters") else None)
    assert serde.name == ("n" if asked("sd") else None)


@pytest.mark.parametrize("name", ["", ".", "nope", "sd.nope", "sd.", "values.x", "parameters.p", "sd.cols.name.x"])
def test_a_field_that_is_none_is_rejected(name: str) -> None:
    with pytest.raises(InvalidInputError, match="Invalid projection field name"):
        tree_of(Partition, [name])


@given(st.text("ab%_.\n"), st.text("ab.\n"))
def test_like_is_sqls(pattern: str, text: str) -> None:
    def matches(left: str, right: str) -> bool:
        if not left:
            return not right
        if left[0] == "%":
            return any(matches(left[1:], right[start:]) for start in range(len(right) + 1))
        return bool(right) and left[0] in ("_", right[0]) and matches(left[1:], right[1:])

    assert bool(like(pattern).fullmatch(text)) is matches(pattern[:6], text[:8]) or len(pattern) > 6 or len(text) > 8


def test_no_pattern_takes_long() -> None:
    """Trying every position for each part would take exponential time."""
    assert not like("%a" * 100 + "%b").fullmatch("a" * 4_000)
    assert like("%a" * 100 + "%b").fullmatch("a" * 4_000 + "b")


def test_a_table_that_is_read_has_no_temporary_flag() -> None:
    stored = Table("t", "d", temporary=None)
    assert Table().temporary is False
    assert decoded_with_id(EncodedStruct(Table, encode_fields(stored) + b"\0"), 7) == Table(
        "t", "d", temporary=None, id=7
    )
