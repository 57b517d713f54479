"""Metadata of a table while updates change it, and its completion (Iceberg's TableMetadata.Builder)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from metastore.iceberg.documents import Document
from metastore.iceberg.errors import UNSUPPORTED, RestError, invalid
from metastore.iceberg.layouts import FIRST_PARTITION_ID, UNSORTED, check_order, check_spec
from metastore.iceberg.schemas import highest_id

NEWEST: Final = 3
"""The newest format version that updates can be applied to."""

MAIN: Final = "main"
_MAX_LOG: Final = "write.metadata.previous-versions-max"
_MAX_LOG_DEFAULT: Final = 100


class SnapshotHead(msgspec.Struct):
    """The fields of a snapshot that updates depend on."""

    id: int = msgspec.field(name="snapshot-id")
    at: int = msgspec.field(name="timestamp-ms", default=0)
    sequence: int | None = msgspec.field(name="sequence-number", default=None)
    parent: int | None = msgspec.field(name="parent-snapshot-id", default=None)
    first_row: int | None = msgspec.field(name="first-row-id", default=None)
    added_rows: int | None = msgspec.field(name="added-rows", default=None)


_head: Final = msgspec.json.Decoder(SnapshotHead)


def head_of(snapshot: bytes | msgspec.Raw) -> SnapshotHead:
    """Returns the needed fields of a snapshot. Raises RestError."""
    try:
        return _head.decode(snapshot)
    except msgspec.MsgspecError as error:
        raise invalid(f"Cannot parse snapshot: {error}") from None


class Draft(Document):
    """Metadata of a table while updates change it.

    Attributes:
        base: location of the metadata file on which the draft is based; None for a new table.
        now: milliseconds since 1970.
        changes: the effective updates, with what they concern.
        added: the schema, spec and sort order that were added last, by these names.
    """

    def __init__(self, fields: Mapping[str, msgspec.Raw] | None, base: str | None, now: int) -> None:
        super().__init__(fields)
        self.base, self.now = base, now
        self.changes: list[tuple[str, Any]] = []
        self.added: dict[str, int | None] = {"schema": None, "spec": None, "order": None}
        self._heads: dict[int, SnapshotHead] | None = None
        self._since: int = self.get("last-updated-ms", 0)
        if fields is not None:
            self._complete_old()

    @property
    def version(self) -> int:
        """The format version."""
        return int(self.get("format-version", 2))

    @property
    def snapshots(self) -> dict[int, SnapshotHead]:
        """The snapshots by their ids."""
        if self._heads is None:
            heads = map(head_of, self.raws("snapshots"))
            self._heads = {head.id: head for head in heads}
        return self._heads

    @property
    def current_snapshot(self) -> int:
        """The id of the current snapshot; -1 without one."""
        return int(self.get("current-snapshot-id", -1))

    @property
    def schema(self) -> dict[str, Any] | None:
        """The current schema."""
        return self.element("schemas", "schema-id", self.get("current-schema-id", -1))

    def element(self, name: str, key: str, number: int) -> dict[str, Any] | None:
        """Returns the element of a list that has this number."""
        found: dict[str, Any] | None = next((each for each in self.get(name, []) if each[key] == number), None)
        return found

    def append_snapshot(self, snapshot: Any) -> None:
        """Adds a snapshot."""
        head = head_of(msgspec.json.encode(snapshot))
        heads = self.snapshots
        self.set("snapshots", [*self.raws("snapshots"), snapshot])
        heads[head.id] = head

    def keep_snapshots(self, removed: Collection[int]) -> None:
        """Removes snapshots."""
        kept = [raw for raw in self.raws("snapshots") if head_of(raw).id not in removed]
        self.set("snapshots", kept)
        self._heads = None

    def changed(self, action: str, of: Any = None) -> None:
        """Records that an update has had an effect."""
        self.changes.append((action, of))

    def has_added(self, action: str, of: Any) -> bool:
        """Returns whether an earlier update of the request has added this object."""
        return (action, of) in self.changes

    def _complete_old(self) -> None:
        """Adds the fields that files of format version 1 may lack, as readers do."""
        if self.version > NEWEST:
            raise RestError(501, UNSUPPORTED, f"Format version {self.version} is newer than {NEWEST}: cannot change it")
        if "schemas" not in self:
            schema = {"schema-id": 0, **self.get("schema", {"type": "struct", "fields": []})}
            self.set("schemas", [schema])
            self.set("current-schema-id", schema["schema-id"])
        if "partition-specs" not in self:
            listed = self.get("partition-spec", [])
            numbered = [{"field-id": FIRST_PARTITION_ID + at, **field} for at, field in enumerate(listed)]
            self.set("partition-specs", [{"spec-id": 0, "fields": numbered}])
            self.set("default-spec-id", 0)
        if "last-partition-id" not in self:
            ids = [field["field-id"] for spec in self.get("partition-specs") for field in spec["fields"]]
            self.set("last-partition-id", max([FIRST_PARTITION_ID - 1, *ids]))
        if "sort-orders" not in self:
            self.set("sort-orders", [UNSORTED])
            self.set("default-sort-order-id", 0)
        if "last-column-id" not in self:
            self.set("last-column-id", max(map(highest_id, self.get("schemas"))))
        if "refs" not in self and self.current_snapshot != -1:
            self.set("refs", {MAIN: {"snapshot-id": self.current_snapshot, "type": "branch"}})

    def finish(self) -> bytes | None:
        """Returns the new metadata; None if no update had an effect. Raises RestError if it is invalid."""
        if not self.changes:
            return None
        self._check()
        if self.base is not None:
            self._log_base()
        self._correct_snapshot_log()
        log = self.get("snapshot-log", [])
        self.set("last-updated-ms", max([self.now, *(entry["timestamp-ms"] for entry in log[-1:])]))
        self._mirror()
        return self.encode()

    def _check(self) -> None:
        schema = self.schema
        if schema is None:
            raise invalid(f"Cannot find current schema: {self.get('current-schema-id', -1)}")
        spec = self.element("partition-specs", "spec-id", self.get("default-spec-id", -1))
        order = self.element("sort-orders", "order-id", self.get("default-sort-order-id", -1))
        if spec is None or order is None:
            raise invalid("Cannot find the default partition spec or sort order")
        check_spec(spec, schema, sequential=False, new=False)
        check_order(order, schema)
        if not self.get("location"):
            raise invalid(f"Table location is required in format v{self.version}")
        if not self.get("table-uuid") and self.version > 1:
            raise invalid(f"UUID is required in format v{self.version}")

    def _log_base(self) -> None:
        text = str(self.get("properties", {}).get(_MAX_LOG, _MAX_LOG_DEFAULT))
        if not text.strip().lstrip("-").isdecimal():
            raise invalid(f"The property {_MAX_LOG} is not a number: {text}")
        entry = {"timestamp-ms": self._since, "metadata-file": self.base}
        self.set("metadata-log", [*self.get("metadata-log", []), entry][-max(1, int(text)) :])

    def _correct_snapshot_log(self) -> None:
        """Leaves out snapshots that the request has replaced at once, and everything before a removed one."""
        current = self.current_snapshot
        added = {of for action, of in self.changes if action == "add-snapshot"}
        passed = {of for action, of in self.changes if action == "set-main" and of in added and of != current}
        removed = any(action == "remove-snapshots" for action, _ in self.changes)
        if not passed and not removed:
            return
        kept: list[dict[str, Any]] = []
        for entry in self.get("snapshot-log", []):
            if entry["snapshot-id"] in self.snapshots:
                if entry["snapshot-id"] not in passed:
                    kept.append(entry)
            elif removed:
                kept = []
        if current in self.snapshots and (not kept or kept[-1]["snapshot-id"] != current):
            raise invalid("Cannot set invalid snapshot log: latest entry is not the current snapshot")
        self.set("snapshot-log", kept)

    def _mirror(self) -> None:
        """Writes the fields that a format version has besides others."""
        if self.version == 1:
            self.set("schema", self.schema)
            spec = self.element("partition-specs", "spec-id", self.get("default-spec-id"))
            self.set("partition-spec", spec["fields"] if spec else [])
        else:
            self.remove("schema", "partition-spec")
            self.set("last-sequence-number", self.get("last-sequence-number", 0))
        if self.version > 2:
            self.set("next-row-id", self.get("next-row-id", 0))
        if self.current_snapshot == -1:
            self.set("current-snapshot-id", None if self.version > 2 else -1)
        for name in ("properties", "refs"):
            self.set(name, self.get(name, {}))
        for name in ("statistics", "partition-statistics", "snapshot-log", "metadata-log"):
            self.set(name, self.get(name, []))
        if "snapshots" not in self:
            self.set("snapshots", [])
