"""Metadata of views, and its updates (Iceberg's ViewMetadata.Builder)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from metastore.iceberg.documents import Document
from metastore.iceberg.errors import BAD_REQUEST, RestError, invalid
from metastore.iceberg.metadata import decoded, well_formed
from metastore.iceberg.requirements import check
from metastore.iceberg.schemas import check_schema, same_schema
from metastore.iceberg.updates import Update, field, texts

_LAST_ADDED: Final = -1
_NEWEST: Final = 1
_TYPES_OF: Final = 3  # the format version of tables whose types views may have
_HISTORY: Final = "version.history.num-entries"
_HISTORY_DEFAULT: Final = 10
_DROPS_DIALECTS: Final = "replace.drop-dialect.allowed"


class ViewDraft(Document):
    """Metadata of a view while updates change it. `now`: milliseconds since 1970."""

    def __init__(self, fields: Mapping[str, msgspec.Raw] | None, now: int) -> None:
        super().__init__(fields)
        self.now = now
        self.changes: list[tuple[str, Any]] = []
        self.added: dict[str, int | None] = {"schema": None, "version": None}
        self.dialects = _dialects(self.version(self.get("current-version-id", 0)) or {})
        self.entry: dict[str, int] | None = None

    def version(self, number: int) -> dict[str, Any] | None:
        """Returns the version with this number."""
        found: dict[str, Any] | None = next(
            (each for each in self.get("versions", []) if each["version-id"] == number), None
        )
        return found

    def finish(self) -> bytes | None:
        """Returns the new metadata; None if no update had an effect. Raises RestError if it is invalid."""
        if not self.changes:
            return None
        if not self.get("location") or not self.get("view-uuid"):
            raise invalid("Invalid view: the location or the UUID is missing")
        current = self.version(self.get("current-version-id", 0))
        if current is None:
            raise invalid("Invalid view: no versions were added")
        properties = self.get("properties", {})
        allowed = str(properties.get(_DROPS_DIALECTS, "false")).lower() == "true"
        if not allowed and (lost := self.dialects - _dialects(current)):
            raise invalid(
                f"Cannot replace view due to loss of view dialects ({_DROPS_DIALECTS}=false): {', '.join(sorted(lost))}"
            )
        self._expire(current["version-id"], str(properties.get(_HISTORY, _HISTORY_DEFAULT)))
        for name, empty in (("version-log", list), ("schemas", list), ("properties", dict)):
            self.set(name, self.get(name, empty()))
        return self.encode()

    def _expire(self, current: int, text: str) -> None:
        if not text.isdecimal() or int(text) < 1:
            raise invalid(f"{_HISTORY} must be positive but was {text}")
        versions = self.get("versions")
        log = [*self.get("version-log", []), *([self.entry] if self.entry else [])]
        fresh = {of for action, of in self.changes if action == "add-view-version"} | {current}
        keeps = max(len(fresh), int(text))
        if len(versions) > keeps:
            others = sorted((each["version-id"] for each in versions if each["version-id"] != current), reverse=True)
            kept = {current, *others[: keeps - 1]}
            self.set("versions", [each for each in versions if each["version-id"] in kept])
            log = _since_unknown(log, kept)
        self.set("version-log", log)


def _since_unknown(log: Iterable[dict[str, Any]], kept: set[int]) -> list[dict[str, Any]]:
    """Returns the end of the history without versions that are gone."""
    found: list[dict[str, Any]] = []
    for entry in log:
        found = [*found, entry] if entry["version-id"] in kept else []
    return found


def _dialects(version: Mapping[str, Any]) -> set[str]:
    return {
        str(each.get("dialect")).lower() for each in version.get("representations") or () if each.get("type") == "sql"
    }


def _assign_uuid(draft: ViewDraft, update: Update) -> None:
    uuid, old = field(update, "uuid", str), draft.get("view-uuid")
    if old is not None and uuid != old:
        raise invalid("Cannot reassign uuid")
    if old is None:
        draft.set("view-uuid", uuid)
        draft.changes.append(("assign-uuid", None))


def _upgrade_format_version(draft: ViewDraft, update: Update) -> None:
    version, old = field(update, "format-version", int), draft.get("format-version", 1)
    if version < old:
        raise invalid(f"Cannot downgrade v{old} view to v{version}")
    if version > _NEWEST:
        raise invalid(f"Unsupported format version of a view: v{version}")


def _add_schema(draft: ViewDraft, update: Update) -> None:
    schema, schemas = field(update, "schema", dict), draft.get("schemas", [])
    check_schema(schema, _TYPES_OF)
    if any(same_schema(each, schema) for each in schemas):
        return
    number = max((each["schema-id"] for each in schemas), default=-1) + 1
    draft.set("schemas", [*schemas, {"type": "struct", **schema, "schema-id": number}])
    draft.added["schema"] = number
    draft.changes.append(("add-schema", number))


def _comparable(version: Mapping[str, Any]) -> tuple[Any, ...]:
    keys = ("summary", "representations", "default-catalog", "default-namespace", "schema-id")
    return tuple(version.get(key) for key in keys)


def _add_view_version(draft: ViewDraft, update: Update) -> None:
    given, versions = dict(field(update, "view-version", dict)), draft.get("versions", [])
    if field(given, "schema-id", int) == _LAST_ADDED:
        if draft.added["schema"] is None:
            raise invalid("Cannot set last added schema: no schema has been added")
        given["schema-id"] = draft.added["schema"]
    same = next((each["version-id"] for each in versions if _comparable(each) == _comparable(given)), None)
    if same is not None:
        draft.added["version"] = same if ("add-view-version", same) in draft.changes else None
        return
    if all(each["schema-id"] != given["schema-id"] for each in draft.get("schemas", [])):
        raise invalid(f"Cannot add version with unknown schema: {given['schema-id']}")
    _check_representations(given)
    number = max([field(given, "version-id", int), *(each["version-id"] + 1 for each in versions)])
    given["version-id"] = number
    given.setdefault("timestamp-ms", draft.now)
    draft.set("versions", [*versions, given])
    draft.added["version"] = number
    draft.changes.append(("add-view-version", number))


def _check_representations(version: Mapping[str, Any]) -> None:
    listed = field(version, "representations", list)
    if not listed or any(not isinstance(each, dict) or each.get("type") != "sql" for each in listed):
        raise invalid("Found unsupported view representations: a version has representations of the type sql only")
    dialects = [field(each, "dialect", str).lower() for each in listed if field(each, "sql", str) is not None]
    for dialect in dialects:
        if dialects.count(dialect) > 1:
            text = f"Invalid view version: Cannot add multiple queries for dialect {dialect}"
            raise RestError(400, "IllegalArgumentException", text)


def _set_current_view_version(draft: ViewDraft, update: Update) -> None:
    number = field(update, "view-version-id", int)
    if number == _LAST_ADDED:
        added_last = draft.added["version"]
        if added_last is None:
            raise invalid("Cannot set last version id: no current version id has been set")
        number = added_last
    if number == draft.get("current-version-id"):
        return
    version = draft.version(number)
    if version is None:
        raise invalid(f"Cannot set current version to unknown version: {number}")
    added = ("add-view-version", number) in draft.changes
    draft.set("current-version-id", number)
    draft.entry = {"timestamp-ms": version["timestamp-ms"] if added else draft.now, "version-id": number}
    draft.changes.append(("set-current-view-version", number))


def _set_location(draft: ViewDraft, update: Update) -> None:
    location = field(update, "location", str)
    if location != draft.get("location"):
        draft.set("location", location)
        draft.changes.append(("set-location", None))


def _set_properties(draft: ViewDraft, update: Update) -> None:
    if given := texts(update, "updates", "updated"):
        draft.set("properties", {**draft.get("properties", {}), **given})
        draft.changes.append(("set-properties", None))


def _remove_properties(draft: ViewDraft, update: Update) -> None:
    name = "removals" if update.get("removals") is not None else "removed"
    if removed := field(update, name, list):
        kept = {key: value for key, value in draft.get("properties", {}).items() if key not in removed}
        draft.set("properties", kept)
        draft.changes.append(("remove-properties", None))


VIEW_UPDATES: Final[Mapping[str, Callable[[ViewDraft, Update], None]]] = MappingProxyType(
    {
        "assign-uuid": _assign_uuid,
        "upgrade-format-version": _upgrade_format_version,
        "add-schema": _add_schema,
        "set-location": _set_location,
        "set-properties": _set_properties,
        "remove-properties": _remove_properties,
        "add-view-version": _add_view_version,
        "set-current-view-version": _set_current_view_version,
    }
)
"""The functions by the names of their actions."""


def _apply(draft: ViewDraft, updates: Iterable[Any]) -> None:
    for update in updates:
        action = update.get("action") if isinstance(update, dict) else None
        function = VIEW_UPDATES.get(str(action).lower())
        if function is None:
            raise RestError(400, BAD_REQUEST, f"Unknown update of a view: {action}")
        try:
            function(draft, update)
        except (KeyError, TypeError, AttributeError) as error:
            raise RestError(
                400, BAD_REQUEST, f"Cannot parse {action}: {error!r} is missing or of another type"
            ) from None


def created_view(request: Mapping[str, Any], location: str, uuid: str, now: int) -> bytes:
    """Returns the metadata of a new view. `request`: a `CreateViewRequest`. Raises RestError."""
    version = {**field(request, "view-version", dict), "schema-id": _LAST_ADDED}
    properties = texts(request, "properties") if request.get("properties") is not None else {}
    draft = ViewDraft(None, now)
    draft.set("format-version", 1)
    updates = [
        {"action": "assign-uuid", "uuid": uuid},
        {"action": "set-location", "location": location},
        {"action": "add-schema", "schema": field(request, "schema", dict)},
        {"action": "add-view-version", "view-version": version},
        {"action": "set-current-view-version", "view-version-id": _LAST_ADDED},
        {"action": "set-properties", "updates": properties},
    ]
    _apply(draft, updates)
    content = draft.finish()
    assert content is not None  # noqa: S101 - a new view has changes
    return content


def committed_view(
    content: bytes, location: str, requirements: Iterable[Any], updates: Iterable[Any], now: int
) -> bytes | None:
    """Returns the metadata after a commit; None if nothing changes. Raises RestError."""
    with well_formed(location):
        draft = ViewDraft(decoded(content, location), now)
        check(draft, requirements)
        _apply(draft, updates)
        return draft.finish()
