"""Requirements of commits on Iceberg tables."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from metastore.iceberg.errors import RestError
from metastore.iceberg.requirements import REQUIREMENTS, check, is_create
from metastore.iceberg.tables import document
from tests.unit.iceberg.test_updates import BASE, UUID, commit, main, new_table, snapshot

MET: list[dict[str, Any]] = [
    {"type": "assert-table-uuid", "uuid": UUID.upper()},
    {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 1},
    {"type": "assert-ref-snapshot-id", "ref": "none", "snapshot-id": None},
    {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 6},
    {"type": "assert-current-schema-id", "current-schema-id": 0},
    {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 999},
    {"type": "assert-default-spec-id", "default-spec-id": 0},
    {"type": "assert-default-sort-order-id", "default-sort-order-id": 0},
]
UNMET: list[dict[str, Any]] = [
    {"type": "assert-create"},
    {"type": "assert-table-uuid", "uuid": "other"},
    {"type": "assert-view-uuid", "uuid": "other"},
    {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 2},
    {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None},
    {"type": "assert-ref-snapshot-id", "ref": "none", "snapshot-id": 1},
    {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 5},
    {"type": "assert-current-schema-id", "current-schema-id": 1},
    {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 1000},
    {"type": "assert-default-spec-id", "default-spec-id": 1},
    {"type": "assert-default-sort-order-id", "default-sort-order-id": 1},
]


@pytest.fixture(scope="module")
def base() -> Any:
    after = commit(new_table(), {"action": "add-snapshot", "snapshot": snapshot(1, 1)}, main(1))
    return document(msgspec.json.encode(after), BASE)


def test_met_requirements(base: Any) -> None:
    check(base, MET)
    assert {each["type"] for each in UNMET} == REQUIREMENTS.keys()


@pytest.mark.parametrize("requirement", UNMET)
def test_unmet_requirements(base: Any, requirement: dict[str, Any]) -> None:
    with pytest.raises(RestError, match="Requirement failed") as raised:
        check(base, [requirement])
    assert (raised.value.status, raised.value.kind) == (409, "CommitFailedException")


@pytest.mark.parametrize("requirement", [{"type": "none"}, {}, "text", None, {"type": "assert-table-uuid"}])
def test_malformed_requirements(base: Any, requirement: Any) -> None:
    with pytest.raises(RestError) as raised:
        check(base, [requirement])
    assert raised.value.status == 400


def test_creation_has_no_other_requirement() -> None:
    assert is_create([{"type": "assert-create"}])
    assert not is_create(MET)
    with pytest.raises(RestError, match="Invalid create requirements"):
        is_create([{"type": "assert-create"}, *MET])
