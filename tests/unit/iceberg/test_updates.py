"""Updates of Iceberg's metadata: against PyIceberg's own, and the rules that PyIceberg lacks."""

from __future__ import annotations

import json
import string
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.table.update import TableUpdate, update_table_metadata

from metastore.iceberg.commits import Change
from metastore.iceberg.errors import RestError
from metastore.iceberg.tables import committed, created
from metastore.iceberg.updates import UPDATES
from tests.unit.iceberg.fakes import NAME, Disk, committer, raising

BASE = "s3://lake/t/metadata/00000-a.metadata.json"
UUID = "5f0bdd30-4d5c-4a6f-9a5c-0a3a8b6d1c11"
NOW = 1_700_000_000_000
COLUMNS: list[dict[str, Any]] = [
    {"id": 7, "name": "id", "required": True, "type": "long"},
    {"id": 9, "name": "at", "required": False, "type": "timestamptz"},
    {"id": 11, "name": "inner", "required": False, "type": {
        "type": "struct", "fields": [{"id": 12, "name": "text", "required": False, "type": "string"}]}},
    {"id": 14, "name": "tags", "required": False, "type": {
        "type": "list", "element-id": 15, "element": "string", "element-required": False}},
]  # fmt: skip
SCHEMA: dict[str, Any] = {"type": "struct", "schema-id": 0, "fields": COLUMNS, "identifier-field-ids": [7]}
_updates: TypeAdapter[TableUpdate] = TypeAdapter(TableUpdate)


def new_table(version: int = 2, **request: Any) -> bytes:
    properties = {"format-version": str(version), "owner": "a"}
    return created({"name": "t", "schema": SCHEMA, "properties": properties} | request, "s3://lake/t", UUID, NOW)


def commit(content: bytes, *updates: dict[str, Any], now: int = NOW + 1, base: str = BASE) -> dict[str, Any]:
    result = committed(content, base, [], updates, now)
    assert result is not None
    return dict(json.loads(result))


def snapshot(number: int, sequence: int, parent: int | None = None, **more: Any) -> dict[str, Any]:
    given = {"snapshot-id": number, "sequence-number": sequence, "timestamp-ms": NOW + sequence, "schema-id": 0}
    if parent is not None:
        given["parent-snapshot-id"] = parent
    return given | {"manifest-list": f"s3://lake/t/{number}.avro", "summary": {"operation": "append"}} | more


def main(number: int) -> dict[str, Any]:
    return {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": number}


def spec_of(source: int, transform: str, name: str = "p") -> dict[str, Any]:
    return {"action": "add-spec", "spec": {"fields": [{"source-id": source, "transform": transform, "name": name}]}}


class Model:
    """Draws updates that are possible, one after the other."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.columns, self.last_column, self.schemas = [*json.loads(new_table())["schemas"][0]["fields"]], 6, 1
        self.specs, self.last_partition, self.snapshots, self.newest = 1, 999, list[int](), 100
        self.old_schemas, self.old_specs = set[int](), set[int]()
        self.ordered, self.moves = False, 0
        self.properties, self.statistics = {"owner", "write.parquet.compression-codec"}, set[int]()
        self.tags: dict[str, int] = {}

    def drawn(self) -> list[dict[str, Any]]:
        kinds = [self.schema, self.spec, self.order, self.snapshot, self.tag, self.expire, self.properties_set,
                 self.properties_removed, self.location, self.statistics_set, self.statistics_removed, self.uuid,
                 self.schemas_removed, self.specs_removed, self.snapshots_removed]  # fmt: skip
        found: list[dict[str, Any]] = []
        for kind in self.draw(st.lists(st.sampled_from(kinds), max_size=12)):
            found += kind()
        return found

    def schema(self) -> list[dict[str, Any]]:
        self.last_column += 1
        column = {"id": self.last_column, "name": f"c{self.last_column}", "required": False, "type": "decimal(9, 2)"}
        self.columns.append(column)
        self.old_schemas.add(self.schemas - 1)
        schema = {"type": "struct", "schema-id": self.schemas, "fields": [*self.columns], "identifier-field-ids": [1]}
        self.schemas += 1
        return [{"action": "add-schema", "schema": schema}, {"action": "set-current-schema", "schema-id": -1}]

    def spec(self) -> list[dict[str, Any]]:
        self.last_partition += 1
        field = {
            "source-id": 1,
            "field-id": self.last_partition,
            "transform": f"bucket[{self.specs}]",
            "name": f"p{self.specs}",
        }
        spec = {"spec-id": self.specs, "fields": [field]}
        self.old_specs.add(self.specs - 1)
        self.specs += 1
        return [{"action": "add-spec", "spec": spec}, {"action": "set-default-spec", "spec-id": -1}]

    def order(self) -> list[dict[str, Any]]:
        if self.ordered:  # PyIceberg adds the same order twice
            return []
        self.ordered = True
        field = {"source-id": 2, "transform": "day", "direction": "asc", "null-order": "nulls-first"}
        order = {"order-id": 1, "fields": [field]}
        return [
            {"action": "add-sort-order", "sort-order": order},
            {"action": "set-default-sort-order", "sort-order-id": -1},
        ]

    def snapshot(self) -> list[dict[str, Any]]:
        self.newest += 1
        number, parent = self.newest, self.snapshots[-1] if self.snapshots else None
        self.snapshots.append(number)
        return [{"action": "add-snapshot", "snapshot": snapshot(number, number - 100, parent)}, main(number)]

    def tag(self) -> list[dict[str, Any]]:
        if not self.snapshots:
            return []
        name, number = self.draw(st.sampled_from("abc")), self.draw(st.sampled_from(self.snapshots))
        kind = self.draw(st.sampled_from(("branch", "tag")))
        self.tags[name] = number
        aged = self.draw(st.sampled_from(({}, {"max-ref-age-ms": 5})))
        return [{"action": "set-snapshot-ref", "ref-name": name, "type": kind, "snapshot-id": number} | aged]

    def expire(self) -> list[dict[str, Any]]:
        if len(self.snapshots) < 2 or not self.tags:
            return []
        name = self.draw(st.sampled_from(sorted(self.tags)))
        del self.tags[name]
        return [{"action": "remove-snapshot-ref", "ref-name": name}]

    def uuid(self) -> list[dict[str, Any]]:
        return [{"action": "assign-uuid", "uuid": UUID}]  # PyIceberg also assigns another one

    def schemas_removed(self) -> list[dict[str, Any]]:
        removed, self.old_schemas = sorted(self.old_schemas), set()
        return [{"action": "remove-schemas", "schema-ids": removed}] if removed else []

    def specs_removed(self) -> list[dict[str, Any]]:
        removed, self.old_specs = sorted(self.old_specs), set()
        return [{"action": "remove-partition-specs", "spec-ids": removed}] if removed else []

    def snapshots_removed(self) -> list[dict[str, Any]]:
        """Removes those that no branch or tag names; PyIceberg keeps their partition statistics."""
        kept = {*self.snapshots[-1:], *self.tags.values(), *self.statistics}
        removed = [number for number in self.snapshots if number not in kept]
        self.snapshots = [number for number in self.snapshots if number in kept]
        return [{"action": "remove-snapshots", "snapshot-ids": removed}] if removed else []

    def properties_set(self) -> list[dict[str, Any]]:
        given = self.draw(st.dictionaries(st.sampled_from("xyz"), st.text(max_size=3), max_size=2))
        self.properties |= given.keys()
        return [{"action": "set-properties", "updates": given}]

    def properties_removed(self) -> list[dict[str, Any]]:
        removed = self.draw(st.sets(st.sampled_from(sorted(self.properties)))) if self.properties else set()
        self.properties -= removed
        return [{"action": "remove-properties", "removals": sorted(removed)}]

    def location(self) -> list[dict[str, Any]]:
        self.moves += 1  # PyIceberg counts the location that the table has as a change
        return [{"action": "set-location", "location": f"s3://lake/t{self.moves}"}]

    def statistics_set(self) -> list[dict[str, Any]]:
        if not self.snapshots:
            return []
        number = self.draw(st.sampled_from(self.snapshots))
        if number in self.statistics:
            return []
        self.statistics.add(number)
        file = {"snapshot-id": number, "statistics-path": "s3://lake/s.puffin", "file-size-in-bytes": 4,
                "file-footer-size-in-bytes": 2, "blob-metadata": []}  # fmt: skip
        partitions = {"snapshot-id": number, "statistics-path": "s3://lake/p.parquet", "file-size-in-bytes": 3}
        return [
            {"action": "set-statistics", "snapshot-id": number, "statistics": file},
            {"action": "set-partition-statistics", "partition-statistics": partitions},
        ]

    def statistics_removed(self) -> list[dict[str, Any]]:
        if not self.statistics:
            return []
        number = self.draw(st.sampled_from(sorted(self.statistics)))
        self.statistics.discard(number)
        return [{"action": f"remove-{kind}", "snapshot-id": number} for kind in ("statistics", "partition-statistics")]


@st.composite
def possible_updates(draw: st.DrawFn) -> list[dict[str, Any]]:
    return Model(draw).drawn()


def _comparable(metadata: Any) -> dict[str, Any]:
    """Returns metadata without times, and without snapshots that the request replaced at once, which PyIceberg logs."""
    dumped = json.loads(TableMetadataUtil.parse_obj(json.loads(metadata)).model_dump_json())
    current = dumped.get("current-snapshot-id")
    ids = {each["snapshot-id"] for each in dumped["snapshots"]}
    for each in dumped["snapshots"]:
        if each.get("parent-snapshot-id") not in ids:  # PyIceberg removes the number of a removed parent
            each.pop("parent-snapshot-id", None)
    dumped["snapshot-log"] = [each["snapshot-id"] for each in dumped["snapshot-log"]][-1:] if current else []
    left_out = ("last-updated-ms", "schema", "partition-spec")  # PyIceberg leaves the copies of version 1 as they were
    return {key: value for key, value in dumped.items() if key not in left_out and value not in (None, [])}


@given(updates=possible_updates(), version=st.sampled_from((1, 2)), upgrades=st.booleans())
@settings(max_examples=80, deadline=None)
def test_the_result_is_that_of_pyiceberg(updates: list[dict[str, Any]], version: int, *, upgrades: bool) -> None:
    """PyIceberg has all updates but those of encryption keys. It counts removals of nothing as changes."""
    if version == 1:
        left_out = ("-spec", "-specs", "-snapshot", "-snapshots", "-ref", "statistics")
        updates = [each for each in updates if not each["action"].endswith(left_out)]
        updates += [{"action": "upgrade-format-version", "format-version": 2}] if upgrades else []
    content = new_table(version)
    ours = committed(content, BASE, [], updates, NOW + 1)
    theirs = update_table_metadata(
        TableMetadataUtil.parse_obj(json.loads(content)),
        tuple(_updates.validate_python(each) for each in updates),
        metadata_location=BASE,
    )
    assert _comparable(ours or content) == _comparable(theirs.model_dump_json())


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 1003) | st.text(string.ascii_letters, max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(string.ascii_letters, max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
_keys = ("snapshot-id", "uuid", "format-version", "schema", "schema-id", "spec", "spec-id", "sort-order", "snapshot",
         "sort-order-id", "ref-name", "type", "snapshot-ids", "location", "updates", "removals", "statistics", "key-id",
         "partition-statistics", "spec-ids", "schema-ids", "encryption-key", "fields", "id", "name", "source-id",
         "transform", "direction", "null-order", "element", "timestamp-ms", "sequence-number")  # fmt: skip
_objects = st.dictionaries(
    st.sampled_from(_keys), _json | st.dictionaries(st.sampled_from(_keys), _json, max_size=4), max_size=5
)


_malformed = st.builds(lambda action, given: given | {"action": action}, st.sampled_from(sorted(UPDATES)), _objects)


@given(st.lists(_malformed, max_size=4), st.sampled_from((1, 2, 3)))
@settings(max_examples=150, deadline=None)
def test_a_malformed_update_is_an_error_of_the_protocol(updates: list[dict[str, Any]], version: int) -> None:
    try:
        content = committed(new_table(version), BASE, [], updates, NOW)
    except RestError as error:
        assert error.status in (400, 409)  # noqa: PT017 - most updates are rejected, not all
    else:
        assert content is None or msgspec.json.decode(content)["location"]


@given(st.dictionaries(st.text(min_size=1, max_size=5).map("x-".__add__), _json, max_size=4))
@settings(max_examples=40, deadline=None)
def test_unknown_fields_survive(unknown: dict[str, Any]) -> None:
    content = msgspec.json.encode(msgspec.json.decode(new_table(3)) | unknown)
    first = snapshot(1, 1, **{"first-row-id": 0, "added-rows": 2, "x-new": unknown})
    after = commit(content, {"action": "add-snapshot", "snapshot": first}, main(1))
    assert unknown.items() <= after.items()
    assert after["snapshots"] == [first]
    again = commit(json.dumps(after).encode(), {"action": "set-properties", "updates": {"a": "b"}})
    assert again["snapshots"] == [first]


def test_a_new_table_has_fresh_ids() -> None:
    spec = {"spec-id": 5, "fields": [{"source-id": 9, "field-id": 77, "transform": "day", "name": "day"}]}
    order = {
        "order-id": 3,
        "fields": [{"source-id": 12, "transform": "identity", "direction": "asc", "null-order": "nulls-first"}],
    }
    made = json.loads(new_table(**{"partition-spec": spec, "write-order": order}))
    assert made["schemas"][0]["identifier-field-ids"] == [1]
    assert [each["id"] for each in made["schemas"][0]["fields"]] == [1, 2, 3, 4]
    assert made["schemas"][0]["fields"][2]["type"]["fields"][0]["id"] == 5
    assert (made["last-column-id"], made["last-partition-id"]) == (6, 1000)
    assert made["partition-specs"] == [
        {"spec-id": 0, "fields": [{"source-id": 2, "transform": "day", "name": "day", "field-id": 1000}]}
    ]
    assert made["sort-orders"][0]["fields"][0]["source-id"] == 5
    assert made["default-sort-order-id"] == 1
    assert made["properties"] == {"owner": "a", "write.parquet.compression-codec": "zstd"}
    assert TableMetadataUtil.parse_obj(made).schema().find_field("inner.text").field_id == 5


def test_row_lineage_of_version_3() -> None:
    table = new_table(3)
    assert json.loads(table)["next-row-id"] == 0
    first = snapshot(1, 1, **{"first-row-id": 0, "added-rows": 10})
    after = commit(table, {"action": "add-snapshot", "snapshot": first}, main(1))
    assert (after["next-row-id"], after["last-sequence-number"], after["current-snapshot-id"]) == (10, 1, 1)
    stale = snapshot(2, 2, 1, **{"first-row-id": 9, "added-rows": 1})
    with pytest.raises(RestError, match="behind table next-row-id: 9 < 10") as raised:
        commit(json.dumps(after).encode(), {"action": "add-snapshot", "snapshot": stale})
    assert raised.value.status == 409
    with pytest.raises(RestError, match="first-row-id is null") as raised:
        commit(table, {"action": "add-snapshot", "snapshot": snapshot(2, 2)})
    assert raised.value.status == 400


def test_encryption_keys() -> None:
    first, second = ({"key-id": name, "encrypted-key-metadata": "a2V5"} for name in ("a", "b"))
    added = [{"action": "add-encryption-key", "encryption-key": key} for key in (first, second, first)]
    after = commit(new_table(3), *added)
    assert after["encryption-keys"] == [first, second]
    removal = {"action": "remove-encryption-key", "key-id": "a"}
    assert commit(json.dumps(after).encode(), removal)["encryption-keys"] == [second]
    assert committed(new_table(3), BASE, [], [removal], NOW) is None


def test_what_a_commit_does_not_change_stays_byte_for_byte() -> None:
    """Lineage of rows and deletion vectors of version 3 are in fields and snapshots that a server only passes on."""
    old = (
        b'{ "snapshot-id" : 9223372036854775807,"sequence-number":1, "timestamp-ms":1700000000001,\n"first-row-id":0,'
        b'"added-rows":10,"manifest-list":"s3:\\/\\/lake\\/1.avro","summary":{"operation":"append",'
        b'"added-dvs":"\\u0031","total-deletion-vectors":"1"},"key-id":null,"x":0.10,"schema-id":0}'
    )
    table = new_table(3).replace(
        b'"snapshots":[]', b'"x-lineage" : {"a":1.50, "b" :"\\u00e4"},"snapshots":[' + old + b"]"
    )
    assert old in table
    result = committed(table, BASE, [], [{"action": "set-properties", "updates": {"a": "b"}}], NOW)
    assert result is not None
    assert old in result
    assert b'{"a":1.50, "b" :"\\u00e4"}' in result
    new = snapshot(2, 2, 9223372036854775807, **{"first-row-id": 10, "added-rows": 3})
    result = committed(result, BASE, [], [{"action": "add-snapshot", "snapshot": new}, main(2)], NOW)
    assert result is not None
    assert old in result
    assert json.loads(result)["snapshots"][1] == new


def test_a_stale_sequence_number_is_a_conflict() -> None:
    after = commit(new_table(), {"action": "add-snapshot", "snapshot": snapshot(1, 5)}, main(1))
    with pytest.raises(RestError, match="sequence number 5 older than last sequence number 5") as raised:
        commit(json.dumps(after).encode(), {"action": "add-snapshot", "snapshot": snapshot(2, 5, 1)})
    assert (raised.value.status, raised.value.kind) == (409, "CommitFailedException")


def test_an_upgrade_from_version_1() -> None:
    old = json.loads(new_table(1))
    assert old["schema"] == old["schemas"][0]
    kept = {"format-version", "location", "last-updated-ms", "last-column-id", "schema", "partition-spec", "table-uuid"}
    ancient = json.dumps({key: value for key, value in old.items() if key in kept} | {"snapshots": [
        {"snapshot-id": 4, "timestamp-ms": NOW, "manifest-list": "m"}], "current-snapshot-id": 4}).encode()  # fmt: skip
    after = commit(ancient, {"action": "upgrade-format-version", "format-version": 2})
    assert (after["format-version"], after["last-sequence-number"], after["last-partition-id"]) == (2, 0, 999)
    assert after["refs"] == {"main": {"snapshot-id": 4, "type": "branch"}}
    assert "schema" not in after
    assert len(after["schemas"]) == 1
    with pytest.raises(RestError, match="Cannot downgrade v2 table to v1"):
        commit(json.dumps(after).encode(), {"action": "upgrade-format-version", "format-version": 1})
    with pytest.raises(RestError, match="unsupported format version: v4"):
        commit(ancient, {"action": "upgrade-format-version", "format-version": 4})


def test_removed_snapshots_take_references_and_statistics_with_them() -> None:
    content = new_table()
    for number in (1, 2, 3):
        added = {"action": "add-snapshot", "snapshot": snapshot(number, number, number - 1 or None)}
        content = json.dumps(commit(content, added, main(number))).encode()
    file = {"snapshot-id": 1, "statistics-path": "p", "file-size-in-bytes": 1}
    tag = {"action": "set-snapshot-ref", "ref-name": "old", "type": "tag", "snapshot-id": 2}
    content = json.dumps(
        commit(content, tag, {"action": "set-partition-statistics", "partition-statistics": file})
    ).encode()
    after = commit(content, {"action": "remove-snapshots", "snapshot-ids": [1, 2, 99]})
    assert [each["snapshot-id"] for each in after["snapshots"]] == [3]
    assert (list(after["refs"]), after["partition-statistics"]) == (["main"], [])
    assert [each["snapshot-id"] for each in after["snapshot-log"]] == [3]
    assert commit(content, {"action": "remove-snapshots", "snapshot-ids": [3]})["current-snapshot-id"] == -1


def test_the_log_of_metadata_is_bounded() -> None:
    content = new_table()
    for number in range(4):
        properties = {"write.metadata.previous-versions-max": "2", "n": str(number)}
        after = commit(
            content, {"action": "set-properties", "updates": properties}, base=f"m{number}", now=NOW + number + 1
        )
        content = json.dumps(after).encode()
    assert after["metadata-log"] == [
        {"timestamp-ms": NOW + 2, "metadata-file": "m2"},
        {"timestamp-ms": NOW + 3, "metadata-file": "m3"},
    ]
    assert after["last-updated-ms"] == NOW + 4


def test_passed_snapshots_are_not_in_the_history() -> None:
    added = [{"action": "add-snapshot", "snapshot": snapshot(number, number)} for number in (1, 2)]
    after = commit(new_table(), added[0], main(1), added[1], main(2))
    assert after["snapshot-log"] == [{"timestamp-ms": NOW + 2, "snapshot-id": 2}]


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({"action": "none"}, "Unknown update: none"),
        ({"action": "set-current-schema", "schema-id": -1}, "no schema has been added"),
        ({"action": "set-current-schema", "schema-id": 7}, "unknown schema: 7"),
        ({"action": "set-default-spec", "spec-id": 7}, "unknown spec: 7"),
        ({"action": "remove-schemas", "schema-ids": [0]}, "Cannot remove the current schema"),
        ({"action": "remove-partition-specs", "spec-ids": [0]}, "Cannot remove the default partition spec"),
        ({"action": "assign-uuid", "uuid": "other"}, "Cannot reassign the UUID"),
        (main(5), "Cannot set main to unknown snapshot: 5"),
        ({"action": "set-location"}, "location is not a text"),
        (spec_of(3, "identity"), "non-primitive"),
        (spec_of(1, "day"), "Invalid source type long"),
        (spec_of(6, "identity"), "only structs"),
        (spec_of(77, "identity"), "Cannot find source column"),
        (spec_of(1, "bucket[4]", name="at"), "name that exists in schema"),
        ({"action": "add-schema", "schema": {"type": "struct", "fields": [
            {"id": 1, "name": "v", "required": False, "type": "variant"}]}}, "variant is not supported until v3"),
    ],
)  # fmt: skip
def test_impossible_updates(update: dict[str, Any], message: str) -> None:
    with pytest.raises(RestError, match=message) as raised:
        commit(new_table(), update)
    assert raised.value.status == 400


@given(st.dictionaries(st.sampled_from(sorted(json.loads(new_table(3)))), _json, min_size=1, max_size=3))
@settings(max_examples=100, deadline=None)
def test_a_broken_metadata_file_is_an_error_of_the_protocol(broken: dict[str, Any]) -> None:
    content = msgspec.json.encode(msgspec.json.decode(new_table(3)) | broken)
    first = snapshot(1, 1, **{"first-row-id": 0, "added-rows": 2})
    requirements = [{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None}]
    updates = [
        {"action": "add-snapshot", "snapshot": first},
        main(1),
        {"action": "set-properties", "updates": {"a": "b"}},
    ]
    try:
        after = committed(content, BASE, requirements, updates, NOW)
        assert after is not None
        committer(Disk(), raising()).commit(lambda: [Change(NAME, after, registers=BASE)])
    except RestError as error:
        assert error.status in (400, 409, 501)  # noqa: PT017 - some fields are not needed


def test_without_effect_nothing_is_written() -> None:
    assert committed(new_table(), BASE, [], [], NOW) is None
    same = [{"action": "set-location", "location": "s3://lake/t"}, {"action": "assign-uuid", "uuid": UUID}]
    assert committed(new_table(), BASE, [], same, NOW) is None
