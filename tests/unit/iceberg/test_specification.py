"""What is served, beside facts of the protocol's OpenAPI document (Iceberg 1.12, rest-catalog-open-api.yaml)."""

from __future__ import annotations

from metastore.iceberg.requirements import REQUIREMENTS
from metastore.iceberg.updates import UPDATES
from metastore.iceberg.views import VIEW_UPDATES
from metastore.web.iceberg import ENDPOINTS

NAMESPACE, TABLE, VIEW = "/namespaces/{namespace}", "/tables/{table}", "/views/{view}"
# Path below the prefix → the methods of the specification.
SPECIFIED = {
    "/namespaces": "GET POST",
    NAMESPACE: "GET HEAD DELETE",
    f"{NAMESPACE}/properties": "POST",
    f"{NAMESPACE}/tables": "GET POST",
    f"{NAMESPACE}/register": "POST",
    f"{NAMESPACE}{TABLE}": "GET HEAD POST DELETE",
    f"{NAMESPACE}{TABLE}/unregister": "POST",
    f"{NAMESPACE}{TABLE}/metrics": "POST",
    "/tables/rename": "POST",
    "/transactions/commit": "POST",
    f"{NAMESPACE}/views": "GET POST",
    f"{NAMESPACE}/register-view": "POST",
    f"{NAMESPACE}{VIEW}": "GET HEAD POST DELETE",
    "/views/rename": "POST",
}
NOT_SERVED = {
    f"{NAMESPACE}/functions": "GET",
    f"{NAMESPACE}/functions/{{function}}": "GET",
    f"{NAMESPACE}{TABLE}/plan": "POST",
    f"{NAMESPACE}{TABLE}/plan/{{plan-id}}": "GET DELETE",
    f"{NAMESPACE}{TABLE}/tasks": "POST",
    f"{NAMESPACE}{TABLE}/credentials": "GET",
    f"{NAMESPACE}{TABLE}/sign": "POST",
}
TABLE_UPDATES = """assign-uuid upgrade-format-version add-schema set-current-schema add-spec set-default-spec
    add-sort-order set-default-sort-order add-snapshot set-snapshot-ref remove-snapshots remove-snapshot-ref
    set-location set-properties remove-properties set-statistics remove-statistics set-partition-statistics
    remove-partition-statistics remove-partition-specs remove-schemas add-encryption-key remove-encryption-key"""
UPDATES_OF_VIEWS = """assign-uuid upgrade-format-version add-schema set-location set-properties remove-properties
    add-view-version set-current-view-version"""
TABLE_REQUIREMENTS = """assert-create assert-table-uuid assert-ref-snapshot-id assert-last-assigned-field-id
    assert-current-schema-id assert-last-assigned-partition-id assert-default-spec-id assert-default-sort-order-id"""


def test_all_endpoints_are_those_of_the_specification() -> None:
    specified = {(method, f"/v1/{{prefix}}{path}") for path, names in SPECIFIED.items() for method in names.split()}
    assert set(ENDPOINTS) == specified
    assert not {path for _, path in ENDPOINTS} & {f"/v1/{{prefix}}{path}" for path in NOT_SERVED}


def test_all_updates_and_requirements_of_the_specification() -> None:
    assert UPDATES.keys() == set(TABLE_UPDATES.split())
    assert len(UPDATES) == 23
    assert VIEW_UPDATES.keys() == set(UPDATES_OF_VIEWS.split())
    assert REQUIREMENTS.keys() == {*TABLE_REQUIREMENTS.split(), "assert-view-uuid"}
