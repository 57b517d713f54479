"""The requirements of a commit, one function each (specification of the REST catalog, `TableRequirement`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from metastore.iceberg.documents import Document
from metastore.iceberg.errors import BAD_REQUEST, RestError, commit_failed
from metastore.iceberg.updates import field

Requirement = Mapping[str, Any]
CREATE: Final = "assert-create"


def _require(words: str, expected: Any, actual: Any) -> None:
    if expected != actual:
        raise commit_failed(f"Requirement failed: {words}: expected id {expected} != {actual}")


def _create(*_: object) -> None:
    raise commit_failed("Requirement failed: table already exists")


def _uuid(key: str, what: str, base: Document, requirement: Requirement) -> None:
    expected, actual = field(requirement, "uuid", str), str(base.get(key))
    if expected.lower() != actual.lower():
        raise commit_failed(f"Requirement failed: {what} does not match: expected {actual} != {expected}")


def _ref_snapshot_id(base: Document, requirement: Requirement) -> None:
    name, expected = field(requirement, "ref", str), requirement.get("snapshot-id")
    ref = base.get("refs", {}).get(name)
    if ref is None:
        if expected is not None:
            raise commit_failed(f"Requirement failed: branch or tag {name} is missing, expected {expected}")
        return
    if expected is None:
        raise commit_failed(f"Requirement failed: {ref['type']} {name} was created concurrently")
    _require(f"{ref['type']} {name} has changed", expected, ref["snapshot-id"])


def _number(name: str, key: str, words: str, base: Document, requirement: Requirement) -> None:
    _require(words, field(requirement, name, int), base.get(key))


REQUIREMENTS: Final[Mapping[str, Callable[[Document, Requirement], None]]] = MappingProxyType(
    {
        CREATE: _create,
        "assert-table-uuid": partial(_uuid, "table-uuid", "UUID"),
        "assert-view-uuid": partial(_uuid, "view-uuid", "view UUID"),
        "assert-ref-snapshot-id": _ref_snapshot_id,
        "assert-last-assigned-field-id": partial(
            _number, "last-assigned-field-id", "last-column-id", "last assigned field id changed"
        ),
        "assert-current-schema-id": partial(
            _number, "current-schema-id", "current-schema-id", "current schema changed"
        ),
        "assert-last-assigned-partition-id": partial(
            _number, "last-assigned-partition-id", "last-partition-id", "last assigned partition id changed"
        ),
        "assert-default-spec-id": partial(
            _number, "default-spec-id", "default-spec-id", "default partition spec changed"
        ),
        "assert-default-sort-order-id": partial(
            _number, "default-sort-order-id", "default-sort-order-id", "default sort order changed"
        ),
    }
)
"""The functions by the names of their types."""


def kinds(requirements: Iterable[Any]) -> list[str]:
    """Returns the types of requirements. Raises RestError for an unknown one."""
    found = [str(each.get("type")).lower() if isinstance(each, dict) else "" for each in requirements]
    for kind in found:
        if kind not in REQUIREMENTS:
            raise RestError(400, BAD_REQUEST, f"Unknown requirement: {kind}")
    return found


def check(base: Document, requirements: Iterable[Any]) -> None:
    """Raises RestError, 409, unless the present metadata meets the requirements."""
    listed = list(requirements)
    for kind, requirement in zip(kinds(listed), listed, strict=True):
        REQUIREMENTS[kind](base, requirement)


def is_create(requirements: Iterable[Any]) -> bool:
    """Returns whether a commit creates its table. Raises RestError for other requirements besides."""
    found = kinds(requirements)
    if CREATE in found and any(kind != CREATE for kind in found):
        raise RestError(400, BAD_REQUEST, f"Invalid create requirements: {', '.join(found)}")
    return CREATE in found
