"""The updates of a table's metadata, one function each (specification of the REST catalog, `TableUpdate`).

The rules are those of Iceberg's TableMetadata.Builder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec

from metastore.iceberg.drafts import MAIN, NEWEST, Draft, head_of
from metastore.iceberg.errors import BAD_REQUEST, RestError, commit_failed, invalid
from metastore.iceberg.layouts import (
    UNSORTED,
    check_order,
    check_spec,
    next_number,
    numbered_spec,
    same_order,
    same_spec,
)
from metastore.iceberg.schemas import check_schema, highest_id, same_schema

Update = Mapping[str, Any]
T = TypeVar("T")
_LAST_ADDED: Final = -1


def field(update: Update, name: str, kind: type[T]) -> T:
    """Returns a field of a request. Raises RestError if it is missing or has another type."""
    value = update.get(name)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        wanted = {int: "a number", str: "a text", dict: "an object", list: "a list"}.get(kind, kind.__name__)
        raise RestError(400, BAD_REQUEST, f"Cannot parse {update.get('action', 'request')}: {name} is not {wanted}")
    return value


def numbers(update: Update, name: str) -> list[int]:
    """Returns a list of numbers of a request. Raises RestError."""
    listed = field(update, name, list)
    if not all(isinstance(each, int) and not isinstance(each, bool) for each in listed):
        raise RestError(400, BAD_REQUEST, f"Cannot parse {update.get('action')}: {name} is not a list of numbers")
    return listed


def texts(update: Update, *names: str) -> dict[str, str]:
    """Returns an object of texts, under the first of these names that is there. Raises RestError."""
    name = next((each for each in names if update.get(each) is not None), names[0])
    given = field(update, name, dict)
    if not all(isinstance(value, str) for value in given.values()):
        raise RestError(
            400, BAD_REQUEST, f"Cannot parse {update.get('action', 'request')}: a value of {name} is no text"
        )
    return given


def _assign_uuid(draft: Draft, update: Update) -> None:
    uuid, old = field(update, "uuid", str), draft.get("table-uuid")
    if uuid == old:
        return
    if old is not None and draft.base is not None:
        raise invalid(f"Cannot reassign the UUID of the table: {old}")
    draft.set("table-uuid", uuid)
    draft.changed("assign-uuid")


def _upgrade_format_version(draft: Draft, update: Update) -> None:
    version = field(update, "format-version", int)
    if version > NEWEST:
        raise invalid(f"Cannot upgrade table to unsupported format version: v{version} (supported: v{NEWEST})")
    if version < draft.version:
        raise invalid(f"Cannot downgrade v{draft.version} table to v{version}")
    if version != draft.version:
        draft.set("format-version", version)
        draft.changed("upgrade-format-version")


def _add_schema(draft: Draft, update: Update) -> None:
    schema = field(update, "schema", dict)
    check_schema(schema, draft.version)
    last = draft.get("last-column-id", 0)
    given = update.get("last-column-id")
    newest = max(last, highest_id(schema), given if isinstance(given, int) else 0)
    schemas = draft.get("schemas", [])
    same = next((each["schema-id"] for each in schemas if same_schema(each, schema)), None)
    if same is not None and newest == last:
        draft.added["schema"] = same if draft.has_added("add-schema", same) else None
        return
    draft.set("last-column-id", newest)
    number = same
    if number is None:
        number = max([draft.get("current-schema-id", 0) - (not schemas), *(each["schema-id"] for each in schemas)]) + 1
        draft.set("schemas", [*schemas, {"type": "struct", **schema, "schema-id": number}])
    draft.added["schema"] = number
    draft.changed("add-schema", number)


def _last_added(draft: Draft, what: str, words: str, number: int) -> int:
    if number != _LAST_ADDED:
        return number
    added = draft.added[what]
    if added is None:
        raise invalid(f"Cannot set last added {words}: no {words} has been added")
    return added


def _set_current_schema(draft: Draft, update: Update) -> None:
    number = _last_added(draft, "schema", "schema", field(update, "schema-id", int))
    if number == draft.get("current-schema-id"):
        return
    if draft.element("schemas", "schema-id", number) is None:
        raise invalid(f"Cannot set current schema to unknown schema: {number}")
    draft.set("current-schema-id", number)
    draft.changed("set-current-schema")


def _add_spec(draft: Draft, update: Update) -> None:
    given, specs = field(update, "spec", dict), draft.get("partition-specs", [])
    number, exists = next_number(given, specs, "spec-id", same_spec, 0)
    if exists:
        draft.added["spec"] = number if draft.has_added("add-spec", number) else None
        return
    schema = draft.schema
    if schema is None:
        raise invalid("Attempting to add a partition spec before a schema is added and set")
    last = draft.get("last-partition-id", 999)
    spec, last = numbered_spec(given, number, specs, last, reuses=draft.version > 1)
    check_spec(spec, schema, sequential=draft.version == 1)
    draft.set("partition-specs", [*specs, spec])
    draft.set("last-partition-id", last)
    draft.added["spec"] = number
    draft.changed("add-spec", number)


def _set_default_spec(draft: Draft, update: Update) -> None:
    number = _last_added(draft, "spec", "partition spec", field(update, "spec-id", int))
    if number == draft.get("default-spec-id"):
        return
    if draft.element("partition-specs", "spec-id", number) is None:
        raise invalid(f"Cannot set default partition spec to unknown spec: {number}")
    draft.set("default-spec-id", number)
    draft.changed("set-default-spec")


def _add_sort_order(draft: Draft, update: Update) -> None:
    given, orders = field(update, "sort-order", dict), draft.get("sort-orders", [])
    number, exists = next_number(given, orders, "order-id", same_order, 1)
    if not given["fields"]:
        number, exists = 0, any(each["order-id"] == 0 for each in orders)
        given = UNSORTED
    if exists:
        draft.added["order"] = number if draft.has_added("add-sort-order", number) else None
        return
    schema = draft.schema
    if schema is None:
        raise invalid("Attempting to add a sort order before a schema is added and set")
    check_order(given, schema)
    draft.set("sort-orders", [*orders, {**given, "order-id": number}])
    draft.added["order"] = number
    draft.changed("add-sort-order", number)


def _set_default_sort_order(draft: Draft, update: Update) -> None:
    number = _last_added(draft, "order", "sort order", field(update, "sort-order-id", int))
    if number == draft.get("default-sort-order-id"):
        return
    if draft.element("sort-orders", "order-id", number) is None:
        raise invalid(f"Cannot set default sort order to unknown order: {number}")
    draft.set("default-sort-order-id", number)
    draft.changed("set-default-sort-order")


def _add_snapshot(draft: Draft, update: Update) -> None:
    snapshot = field(update, "snapshot", dict)
    head = head_of(msgspec.json.encode(snapshot))
    for name, words in (
        ("schemas", "a schema"),
        ("partition-specs", "a partition spec"),
        ("sort-orders", "a sort order"),
    ):
        if not draft.get(name):
            raise invalid(f"Attempting to add a snapshot before {words} is added")
    if head.id in draft.snapshots:
        raise invalid(f"Snapshot already exists for id: {head.id}")
    if draft.version > 1:
        _advance_sequence(draft, head.sequence, has_parent=head.parent is not None)
    if draft.version > 2:
        _advance_rows(draft, head.first_row, head.added_rows)
    draft.append_snapshot(snapshot)
    draft.changed("add-snapshot", head.id)


def _advance_sequence(draft: Draft, sequence: int | None, *, has_parent: bool) -> None:
    last, number = draft.get("last-sequence-number", 0), sequence or 0
    if number <= last and has_parent:
        raise commit_failed(
            f"Validation failed, please retry: Cannot add snapshot with sequence number {number} older than last "
            f"sequence number {last}"
        )
    draft.set("last-sequence-number", max(last, number))


def _advance_rows(draft: Draft, first: int | None, added: int | None) -> None:
    following = draft.get("next-row-id", 0)
    if first is None:
        raise invalid("Cannot add a snapshot: first-row-id is null")
    if first < following:
        raise commit_failed(
            f"Validation failed, please retry: Cannot add a snapshot, first-row-id is behind table next-row-id: "
            f"{first} < {following}"
        )
    if added is None or added < 0:
        raise invalid(f"Cannot add a snapshot: added-rows is {added}")
    draft.set("next-row-id", following + added)


_REF_FIELDS: Final = ("snapshot-id", "type", "min-snapshots-to-keep", "max-snapshot-age-ms", "max-ref-age-ms")


def _set_snapshot_ref(draft: Draft, update: Update) -> None:
    name, number = field(update, "ref-name", str), field(update, "snapshot-id", int)
    kind = field(update, "type", str).lower()
    if kind not in ("branch", "tag"):
        raise invalid(f"Cannot set {name}: its type is neither branch nor tag: {kind}")
    new = {key: update[key] for key in _REF_FIELDS if update.get(key) is not None} | {"type": kind}
    refs = draft.get("refs", {})
    if refs.get(name) == new:
        return
    if number not in draft.snapshots:
        raise invalid(f"Cannot set {name} to unknown snapshot: {number}")
    if name == MAIN:
        if kind == "tag":
            raise invalid("Cannot set main to a tag, it must be a branch")
        at = draft.snapshots[number].at if draft.has_added("add-snapshot", number) else draft.now
        if draft.current_snapshot != number:
            draft.set("snapshot-log", [*draft.get("snapshot-log", []), {"timestamp-ms": at, "snapshot-id": number}])
        draft.set("current-snapshot-id", number)
        draft.changed("set-main", number)
    draft.set("refs", {**refs, name: new})
    draft.changed("set-snapshot-ref")


def _remove_refs(draft: Draft, names: Iterable[str]) -> None:
    for name in names:
        refs = draft.get("refs", {})
        if name == MAIN:
            draft.set("current-snapshot-id", -1)
        if name in refs:
            draft.set("refs", {key: value for key, value in refs.items() if key != name})
            draft.changed("remove-snapshot-ref")


def _remove_snapshot_ref(draft: Draft, update: Update) -> None:
    _remove_refs(draft, [field(update, "ref-name", str)])


def _remove_snapshots(draft: Draft, update: Update) -> None:
    removed = draft.snapshots.keys() & set(numbers(update, "snapshot-ids"))
    if not removed:
        return
    draft.keep_snapshots(removed)
    draft.changed("remove-snapshots")
    for name in ("statistics", "partition-statistics"):
        _without(draft, name, removed)
    dangling = [name for name, ref in draft.get("refs", {}).items() if ref["snapshot-id"] in removed]
    _remove_refs(draft, dangling)


def _without(draft: Draft, name: str, snapshots: Iterable[int]) -> bool:
    """Removes statistics of snapshots. Returns whether there were any."""
    listed, removed = draft.get(name, []), set(snapshots)
    kept = [each for each in listed if each["snapshot-id"] not in removed]
    if len(kept) == len(listed):
        return False
    draft.set(name, kept)
    return True


def _set_location(draft: Draft, update: Update) -> None:
    location = field(update, "location", str)
    if location != draft.get("location"):
        draft.set("location", location)
        draft.changed("set-location")


def _set_properties(draft: Draft, update: Update) -> None:
    if given := texts(update, "updates", "updated"):
        draft.set("properties", {**draft.get("properties", {}), **given})
        draft.changed("set-properties")


def _remove_properties(draft: Draft, update: Update) -> None:
    name = "removals" if update.get("removals") is not None else "removed"
    if removed := field(update, name, list):
        kept = {key: value for key, value in draft.get("properties", {}).items() if key not in removed}
        draft.set("properties", kept)
        draft.changed("remove-properties")


def _set_file(name: str, draft: Draft, update: Update) -> None:
    """Replaces the statistics of a snapshot."""
    file = field(update, name, dict)
    number = field(file, "snapshot-id", int)
    _without(draft, name, [number])
    draft.set(name, [*draft.get(name, []), file])
    draft.changed(f"set-{name}")


def _set_statistics(draft: Draft, update: Update) -> None:
    _set_file("statistics", draft, update)


def _set_partition_statistics(draft: Draft, update: Update) -> None:
    _set_file("partition-statistics", draft, update)


def _remove_statistics(draft: Draft, update: Update) -> None:
    if _without(draft, "statistics", [field(update, "snapshot-id", int)]):
        draft.changed("remove-statistics")


def _remove_partition_statistics(draft: Draft, update: Update) -> None:
    if _without(draft, "partition-statistics", [field(update, "snapshot-id", int)]):
        draft.changed("remove-partition-statistics")


def _remove_partition_specs(draft: Draft, update: Update) -> None:
    removed = numbers(update, "spec-ids")
    if draft.get("default-spec-id") in removed:
        raise invalid("Cannot remove the default partition spec")
    _keep_others(draft, "partition-specs", "spec-id", removed)


def _remove_schemas(draft: Draft, update: Update) -> None:
    removed = numbers(update, "schema-ids")
    if draft.get("current-schema-id") in removed:
        raise invalid("Cannot remove the current schema")
    _keep_others(draft, "schemas", "schema-id", removed)


def _keep_others(draft: Draft, name: str, key: str, removed: list[int]) -> None:
    listed = draft.get(name, [])
    kept = [each for each in listed if each[key] not in removed]
    if len(kept) != len(listed):
        draft.set(name, kept)
        draft.changed(f"remove-{name}")


def _add_encryption_key(draft: Draft, update: Update) -> None:
    key, keys = field(update, "encryption-key", dict), draft.get("encryption-keys", [])
    number = field(key, "key-id", str)
    if all(each["key-id"] != number for each in keys):
        draft.set("encryption-keys", [*keys, key])
        draft.changed("add-encryption-key")


def _remove_encryption_key(draft: Draft, update: Update) -> None:
    number, keys = field(update, "key-id", str), draft.get("encryption-keys", [])
    kept = [each for each in keys if each["key-id"] != number]
    if len(kept) != len(keys):
        draft.set("encryption-keys", kept)
        draft.changed("remove-encryption-key")


UPDATES: Final[Mapping[str, Callable[[Draft, Update], None]]] = MappingProxyType(
    {
        "assign-uuid": _assign_uuid,
        "upgrade-format-version": _upgrade_format_version,
        "add-schema": _add_schema,
        "set-current-schema": _set_current_schema,
        "add-spec": _add_spec,
        "set-default-spec": _set_default_spec,
        "add-sort-order": _add_sort_order,
        "set-default-sort-order": _set_default_sort_order,
        "add-snapshot": _add_snapshot,
        "set-snapshot-ref": _set_snapshot_ref,
        "remove-snapshots": _remove_snapshots,
        "remove-snapshot-ref": _remove_snapshot_ref,
        "set-location": _set_location,
        "set-properties": _set_properties,
        "remove-properties": _remove_properties,
        "set-statistics": _set_statistics,
        "remove-statistics": _remove_statistics,
        "set-partition-statistics": _set_partition_statistics,
        "remove-partition-statistics": _remove_partition_statistics,
        "remove-partition-specs": _remove_partition_specs,
        "remove-schemas": _remove_schemas,
        "add-encryption-key": _add_encryption_key,
        "remove-encryption-key": _remove_encryption_key,
    }
)
"""The functions by the names of their actions."""


def apply(draft: Draft, updates: Iterable[Any]) -> None:
    """Applies updates in order. Raises RestError for an unknown or malformed one, or one that is not possible."""
    for update in updates:
        action = update.get("action") if isinstance(update, dict) else None
        function = UPDATES.get(str(action).lower())
        if function is None:
            raise RestError(400, BAD_REQUEST, f"Unknown update: {action}")
        try:
            function(draft, update)
        except (KeyError, TypeError, AttributeError) as error:
            raise RestError(
                400, BAD_REQUEST, f"Cannot parse {action}: {error!r} is missing or of another type"
            ) from None
