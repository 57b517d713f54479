"""New metadata of tables: from a request to create, and from a commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from metastore.iceberg.documents import Document
from metastore.iceberg.drafts import NEWEST, Draft
from metastore.iceberg.errors import BAD_REQUEST, RestError, invalid
from metastore.iceberg.layouts import UNSORTED, with_sources
from metastore.iceberg.metadata import decoded, well_formed
from metastore.iceberg.requirements import check
from metastore.iceberg.schemas import check_schema, with_fresh_ids
from metastore.iceberg.updates import apply, field, texts

RESERVED: Final = (
    "format-version",
    "uuid",
    "snapshot-count",
    "current-snapshot-id",
    "current-snapshot-summary",
    "current-snapshot-timestamp-ms",
    "current-schema",
    "default-partition-spec",
    "default-sort-order",
)
"""Properties that clients send, and that the metadata does not keep."""

_DEFAULT_VERSION: Final = "2"


def created(request: Mapping[str, Any], location: str, uuid: str, now: int) -> bytes:
    """Returns the metadata of a new table. `request`: a `CreateTableRequest`; `now`: milliseconds since 1970.

    Columns, partition fields and sort fields get new ids, as in Iceberg's TableMetadata. Raises RestError.
    """
    properties = texts(request, "properties") if request.get("properties") is not None else {}
    text = properties.get("format-version", _DEFAULT_VERSION)
    if not text.isdecimal() or not 1 <= int(text) <= NEWEST:
        raise invalid(f"Unsupported format version: v{text} (supported: v{NEWEST})")
    given = field(request, "schema", dict)
    try:
        schema, renumbered = with_fresh_ids(given)
    except (KeyError, TypeError, AttributeError) as error:
        raise invalid(f"Cannot parse schema: {error!r} is missing or of another type") from None
    check_schema(schema, int(text))
    spec = with_sources(request.get("partition-spec") or {"fields": []}, renumbered)
    spec["fields"] = [{key: value for key, value in each.items() if key != "field-id"} for each in spec["fields"]]
    order = with_sources(request.get("write-order") or UNSORTED, renumbered)
    kept = {"write.parquet.compression-codec": "zstd"} | properties
    draft = _empty(int(text), now)
    updates: list[dict[str, Any]] = [
        {"action": "assign-uuid", "uuid": uuid},
        {"action": "add-schema", "schema": schema},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": spec},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": order},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": location},
        {"action": "set-properties", "updates": {key: kept[key] for key in kept if key not in RESERVED}},
    ]
    apply(draft, updates)
    content = draft.finish()
    assert content is not None  # noqa: S101 - a new table has changes
    return content


def created_by_updates(updates: Iterable[Any], uuid: str, now: int) -> bytes:
    """Returns the metadata of a new table that a commit describes by its updates. Raises RestError."""
    listed = list(updates)
    versions = [
        each.get("format-version")
        for each in listed
        if isinstance(each, dict) and str(each.get("action")).lower() == "upgrade-format-version"
    ]
    version = versions[0] if versions and isinstance(versions[0], int) else int(_DEFAULT_VERSION)
    if not 1 <= version <= NEWEST:
        raise invalid(f"Unsupported format version: v{version} (supported: v{NEWEST})")
    draft = _empty(version, now)
    apply(draft, listed)
    if draft.get("table-uuid") is None:
        draft.set("table-uuid", uuid)
    content = draft.finish()
    if content is None:
        raise RestError(400, BAD_REQUEST, "The commit creates a table, and has no updates")
    return content


def _empty(version: int, now: int) -> Draft:
    draft = Draft(None, None, now)
    draft.set("format-version", version)
    draft.set("last-partition-id", 999)
    for name in ("current-schema-id", "default-spec-id", "default-sort-order-id"):
        draft.set(name, 0)  # Java's client does not send these defaults
    return draft


def committed(
    content: bytes, location: str, requirements: Iterable[Any], updates: Iterable[Any], now: int
) -> bytes | None:
    """Returns the metadata after a commit; None if nothing changes. `content`, `location`: of the present file.

    Raises RestError: 409 if a requirement is not met or the commit is based on an older state, 400 for a request that
    is not possible, 501 for a format version that is too new.
    """
    with well_formed(location):
        draft = Draft(decoded(content, location), location, now)
        check(draft, requirements)
        apply(draft, updates)
        return draft.finish()


def document(content: bytes, location: str) -> Document:
    """Returns metadata, to read fields of it. Raises RestError."""
    return Document(decoded(content, location))
