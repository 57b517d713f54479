"""Iceberg tables are created and changed by REST, beside clients of Thrift."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.types import DoubleType
from sqlalchemy import NullPool, create_engine

from metastore.client import connect
from metastore.web.iceberg import MOST_BODY
from migrations.servers import running
from tests.wire.authorization.granting import bag, on_table
from tests.wire.builders import unique
from tests.wire.console.conftest import ADMIN, LOW, Console
from tests.wire.console.visiting import Reply
from tests.wire.iceberg.conftest import SCHEMA, V1, basic, rows
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    LockComponent,
    LockLevel,
    LockRequest,
    LockType,
    UnlockRequest,
)


def rest(console: Console) -> RestCatalog:
    return RestCatalog("rest", uri=f"{console.url}/iceberg")


@pytest.fixture
def namespace(console: Console) -> str:
    name = unique("written")
    rest(console).create_namespace(name, {"comment": "mine", "k": "v"})
    return name


def test_pyiceberg_writes(console: Console, namespace: str) -> None:
    catalog = rest(console)
    table = catalog.create_table((namespace, "t"), SCHEMA, properties={"p": "1"})
    table.append(rows(1, 2, 3))
    table.delete("id = 2")
    table.overwrite(rows(7), "id = 3")
    with table.update_schema() as update:
        update.add_column("price", DoubleType())
    table.append(rows(8).append_column("price", [[2.5]]))
    by_thrift = HiveCatalog("thrift", uri=console.server.uri).load_table((namespace, "t"))
    assert sorted(by_thrift.scan().to_arrow()["id"].to_pylist()) == [1, 7, 8]
    by_thrift.append(rows(9).append_column("price", [[1.0]]))
    table.refresh()
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 7, 8, 9]
    catalog.rename_table((namespace, "t"), (namespace, "u"))
    assert catalog.list_tables(namespace) == [(namespace, "u")]
    catalog.drop_table((namespace, "u"))
    catalog.drop_namespace(namespace)
    assert (namespace,) not in catalog.list_namespaces()


SCHEMA_JSON = {"type": "struct", "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}]}


def post(console: Console, path: str, body: Any, **headers: str) -> Reply:
    return console.visitor().send("POST", f"{V1}/{path}", json.dumps(body), headers)


def created(console: Console, namespace: str, name: str = "t", **more: Any) -> dict[str, Any]:
    reply = post(console, f"namespaces/{namespace}/tables", {"name": name, "schema": SCHEMA_JSON} | more)
    assert reply.status == 200, reply.text
    return dict(reply.data)


def setting(**properties: str) -> dict[str, Any]:
    return {"requirements": [], "updates": [{"action": "set-properties", "updates": properties}]}


def metadata_files(loaded: dict[str, Any]) -> list[str]:
    folder = Path(urlsplit(loaded["metadata"]["location"]).path) / "metadata"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_failed_commit_leaves_no_file(console: Console, namespace: str) -> None:
    before = created(console, namespace)
    unmet = {"requirements": [{"type": "assert-table-uuid", "uuid": "other"}]} | {"updates": setting(a="b")["updates"]}
    reply = post(console, f"namespaces/{namespace}/tables/t", unmet)
    assert (reply.status, reply.data["error"]["type"]) == (409, "CommitFailedException")
    assert metadata_files(before) == [before["metadata-location"].rpartition("/")[2]]
    assert post(console, f"namespaces/{namespace}/tables/none", setting(a="b")).status == 404


def test_a_commit_answers_what_a_load_answers(console: Console, namespace: str) -> None:
    created(console, namespace)
    reply = post(console, f"namespaces/{namespace}/tables/t", setting(a="b"))
    loaded = console.visitor().get(f"{V1}/namespaces/{namespace}/tables/t")
    assert (reply.data, reply.headers["etag"]) == (loaded.data, loaded.headers["etag"])
    assert reply.data["metadata-location"].rpartition("/")[2].startswith("00001-")
    unchanged = post(console, f"namespaces/{namespace}/tables/t", {"requirements": [], "updates": []})
    assert unchanged.data == loaded.data


def test_staged_tables_are_not_in_the_catalog(console: Console, namespace: str) -> None:
    staged = created(console, namespace, **{"stage-create": True, "location": None, "properties": None})
    assert "metadata-location" not in staged
    path = f"namespaces/{namespace}/tables/t"
    assert console.visitor().get(f"{V1}/{path}").status == 404
    metadata = staged["metadata"]
    updates = [
        {"action": "assign-uuid", "uuid": metadata["table-uuid"]},
        {"action": "add-schema", "schema": metadata["schemas"][0]},
        {"action": "add-spec", "spec": metadata["partition-specs"][0]},
        {"action": "add-sort-order", "sort-order": metadata["sort-orders"][0]},
        {"action": "set-location", "location": metadata["location"]},
    ]
    commit = {"requirements": [{"type": "assert-create"}], "updates": updates}
    replies = [post(console, path, commit) for _ in range(2)]
    assert [reply.status for reply in replies] == [200, 409]
    assert replies[0].data["metadata"]["table-uuid"] == metadata["table-uuid"]
    assert len(metadata_files(replies[0].data)) == 1


def test_a_transaction_changes_all_tables_or_none(console: Console, namespace: str) -> None:
    tables = [created(console, namespace, name) for name in "ab"]

    def change(name: str, *requirements: dict[str, Any]) -> dict[str, Any]:
        return (
            {"identifier": {"namespace": [namespace], "name": name}} | setting(n="1") | {"requirements": requirements}
        )

    wrong = {"type": "assert-table-uuid", "uuid": "other"}
    failed = post(console, "transactions/commit", {"table-changes": [change("a"), change("b", wrong)]})
    assert failed.status == 409
    assert [metadata_files(table) for table in tables] == [
        [table["metadata-location"].rpartition("/")[2]] for table in tables
    ]
    assert post(console, "transactions/commit", {"table-changes": [change("a"), change("none")]}).status == 404
    assert post(console, "transactions/commit", {"table-changes": [change("a"), change("a")]}).status == 400
    assert [len(metadata_files(table)) for table in tables] == [1, 1]
    assert post(console, "transactions/commit", {"table-changes": [change("a"), change("b")]}).status == 204
    loaded = [console.visitor().get(f"{V1}/namespaces/{namespace}/tables/{name}").data for name in "ab"]
    assert [each["metadata"]["properties"]["n"] for each in loaded] == ["1", "1"]


def test_a_commit_waits_for_a_lock_and_then_fails(console: Console, namespace: str) -> None:
    created(console, namespace)
    component = LockComponent(LockType.EXCLUSIVE, LockLevel.TABLE, namespace, "t")
    with console.client() as client:
        lock = client.lock(LockRequest([component], user="me", hostname="here"))
        reply = post(console, f"namespaces/{namespace}/tables/t", setting(a="b"))
        assert (reply.status, reply.data["error"]["type"]) == (409, "CommitFailedException")
        assert "locked exclusively by me@here" in reply.data["error"]["message"]
        client.unlock(UnlockRequest(lock.lockid))
    assert post(console, f"namespaces/{namespace}/tables/t", setting(a="b")).status == 200


def test_register_unregister_and_purge(console: Console, namespace: str) -> None:
    table = created(console, namespace)
    path, location = f"namespaces/{namespace}/tables/t", table["metadata-location"]
    assert post(console, f"{path}/unregister", {}).data == table
    assert console.visitor().get(f"{V1}/{path}").status == 404
    register = {"name": "t", "metadata-location": location}
    assert post(console, f"namespaces/{namespace}/register", register).data["metadata"] == table["metadata"]
    assert post(console, f"namespaces/{namespace}/register", register).data["error"]["type"] == "AlreadyExistsException"
    newer = post(console, path, setting(a="b")).data["metadata-location"]
    again = post(console, f"namespaces/{namespace}/register", register | {"overwrite": True})
    assert again.data["metadata-location"] == location
    assert newer.rpartition("/")[2] in metadata_files(table)  # another client may use it
    missing = register | {"name": "u", "metadata-location": f"{location}.none"}
    assert post(console, f"namespaces/{namespace}/register", missing).status == 404
    outside = register | {"name": "u", "metadata-location": "file:/etc/passwd"}
    assert post(console, f"namespaces/{namespace}/register", outside).status == 400
    assert console.visitor().send("DELETE", f"{V1}/{path}?purgeRequested=True", None, {}).status == 204
    assert metadata_files(table) == []
    with connect(console.server.uri) as client:  # the files are in the trash
        client.undrop(namespace, "t")
    assert console.visitor().get(f"{V1}/{path}").data["metadata"] == table["metadata"]
    assert console.visitor().send("DELETE", f"{V1}/{path}", None, {}).status == 204
    assert metadata_files(table) != []


@pytest.mark.parametrize("below", ["", "/sub"])
def test_a_purge_leaves_files_of_other_tables(console: Console, namespace: str, below: str) -> None:
    """Two tables may share a directory, or a file of metadata. The last one that is purged takes the files."""
    catalog = rest(console)
    first = catalog.create_table((namespace, "first"), SCHEMA)
    first.append(rows(1))
    second = catalog.create_table((namespace, "second"), SCHEMA, location=first.location() + below)
    second.append(rows(2))
    catalog.register_table((namespace, "again"), second.metadata_location)
    for dropped in ("first", "again"):
        assert catalog.load_table((namespace, "second")).scan().to_arrow()["id"].to_pylist() == [2]
        catalog.purge_table((namespace, dropped))
    assert catalog.load_table((namespace, "second")).scan().to_arrow()["id"].to_pylist() == [2]
    catalog.purge_table((namespace, "second"))
    assert not Path(urlsplit(second.location()).path).exists()


def test_a_purge_leaves_files_that_are_not_to_be_collected(console: Console, namespace: str) -> None:
    catalog = rest(console)
    table = catalog.create_table((namespace, "t"), SCHEMA, properties={"gc.enabled": "false"})
    table.append(rows(1))
    catalog.purge_table((namespace, "t"))
    again = catalog.register_table((namespace, "t"), table.metadata_location)
    assert again.scan().to_arrow()["id"].to_pylist() == [1]


def test_its_database_sessions_are_not_taken_for_those_of_an_older_server(console: Console, namespace: str) -> None:
    """`metastore db upgrade --finish` waits for older servers."""
    assert rest(console).list_tables(namespace) == []
    with create_engine(console.server.database_url, poolclass=NullPool).connect() as connection:
        found = running(connection)
    assert found
    assert all(server.revision for server in found), found


def test_properties_of_a_namespace_that_are_set_at_once_are_all_kept(console: Console, namespace: str) -> None:
    path = f"namespaces/{namespace}/properties"

    def change(number: int) -> int:
        updates = {f"k{number}": "v"} | ({"comment": "other"} if number == 7 else {})
        return post(console, path, {"updates": updates, "removals": ["k"] if number == 3 else []}).status

    with ThreadPoolExecutor(12) as threads:
        assert set(threads.map(change, range(24))) == {200}
    found = console.visitor().get(f"{V1}/namespaces/{namespace}").data["properties"]
    assert {f"k{number}" for number in range(24)} <= found.keys()
    assert "k" not in found
    assert found["comment"] == "other"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("string(5)", "Invalid type for c: Iceberg has no type 'string(5)'"),
        ("integer", "Invalid type for c: Iceberg has no type 'integer'"),
        ("decimal(5)", "Invalid type for c: Iceberg has no type 'decimal(5)'"),
        ("fixed[x]", "Invalid type for c: Iceberg has no type 'fixed[x]'"),
        ("variant", "Invalid type for c: variant is not served, because Hive has no such type"),
        ({"type": "list", "element-id": 8, "element": "date(2)", "element-required": False}, "no type 'date(2)'"),
    ],
)
def test_types_that_no_client_reads_are_rejected(console: Console, namespace: str, kind: Any, message: str) -> None:
    fields = [{"id": 1, "name": "id", "type": "long", "required": False}]
    fields.append({"id": 2, "name": "c", "type": kind, "required": False})
    schema = {"type": "struct", "schema-id": 0, "fields": fields}
    request = {"name": "t", "schema": schema, "properties": {"format-version": "3"}}
    reply = post(console, f"namespaces/{namespace}/tables", request)
    assert (reply.status, message in reply.data["error"]["message"]) == (400, True), reply.data
    spec = {"spec-id": 0, "fields": [{"name": "b", "transform": "bucket[0]", "source-id": 1, "field-id": 1000}]}
    buckets = {"name": "t", "schema": {**schema, "fields": fields[:1]}, "partition-spec": spec}
    assert post(console, f"namespaces/{namespace}/tables", buckets).status == 400


WRONG = (5, None, [5], {"a": None})


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yields the places in a JSON value, except the value itself."""
    each = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in each:
        yield (*path, key)
        yield from paths(inner, (*path, key))


def test_metadata_with_other_types_is_never_an_error_of_the_server(console: Console, namespace: str) -> None:
    rest(console).create_table((namespace, "t"), SCHEMA, properties={"p": "1"}).append(rows(1, 2))
    table = console.visitor().get(f"{V1}/namespaces/{namespace}/tables/t").data
    location = table["metadata-location"]
    file = Path(urlsplit(location).path)
    body = {"name": "u", "metadata-location": location, "overwrite": True}
    failed = []
    for path in paths(table["metadata"]):
        for wrong in WRONG:
            metadata = copy.deepcopy(table["metadata"])
            parent = metadata
            for key in path[:-1]:
                parent = parent[key]
            parent[path[-1]] = wrong
            file.write_text(json.dumps(metadata))
            replies = [post(console, f"namespaces/{namespace}/register", body)]
            if replies[0].status == 200:
                replies.append(console.visitor().get(f"{V1}/namespaces/{namespace}/tables/u?snapshots=refs"))
                replies.append(post(console, f"namespaces/{namespace}/tables/u", setting(a="b")))
            failed += [(path, wrong, each.text) for each in replies if each.status >= 500 and each.status != 501]
    assert failed == []


def test_views(console: Console, namespace: str) -> None:
    version = {"version-id": 1, "schema-id": 0, "timestamp-ms": 1, "summary": {}, "default-namespace": [namespace]}
    version["representations"] = [{"type": "sql", "sql": "SELECT 1 AS id", "dialect": "spark"}]
    view = {"name": "v", "schema": SCHEMA_JSON, "view-version": version, "properties": {"k": "v"}}
    made = post(console, f"namespaces/{namespace}/views", view)
    assert made.status == 200, made.text
    with console.client() as client:
        row = client.get_table(namespace, "v")
    assert (row.tableType, row.viewOriginalText) == ("VIRTUAL_VIEW", "SELECT 1 AS id")
    assert (row.parameters["table_type"], row.parameters["k"]) == ("ICEBERG-VIEW", "v")
    assert post(console, f"namespaces/{namespace}/tables/v", setting(a="b")).status == 404
    taken = post(console, f"namespaces/{namespace}/tables", {"name": "v", "schema": SCHEMA_JSON})
    assert (taken.status, taken.data["error"]["message"]) == (409, f"View with same name already exists: {namespace}.v")
    path = f"namespaces/{namespace}/views/v"
    replaced = post(console, path, {"updates": [{"action": "set-properties", "updates": {"k": "w"}}]})
    assert replaced.data["metadata"]["properties"] == {"k": "w"}
    source, target = ({"namespace": [namespace], "name": name} for name in "vw")
    assert post(console, "views/rename", {"source": source, "destination": target}).status == 204
    assert console.visitor().send("DELETE", f"{V1}/namespaces/{namespace}/views/w", None, {}).status == 204
    assert console.visitor().get(f"{V1}/namespaces/{namespace}/views").data["identifiers"] == []


def test_properties_of_namespaces(console: Console, namespace: str) -> None:
    path = f"namespaces/{namespace}/properties"
    reply = post(console, path, {"removals": ["k", "none"], "updates": {"n": "1", "comment": "new"}})
    assert reply.data == {"removed": ["k"], "updated": ["n", "comment"], "missing": ["none"]}
    properties = console.visitor().get(f"{V1}/namespaces/{namespace}").data["properties"]
    assert (properties["n"], properties["comment"], "k" in properties) == ("1", "new", False)
    both = post(console, path, {"removals": ["n"], "updates": {"n": "2"}})
    assert (both.status, both.data["error"]["type"]) == (422, "UnprocessableEntityException")
    assert post(console, "namespaces", {"namespace": [namespace]}).status == 409
    created(console, namespace)
    full = console.visitor().send("DELETE", f"{V1}/namespaces/{namespace}", None, {})
    assert (full.status, full.data["error"]["type"]) == (409, "NamespaceNotEmptyException")


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("namespaces", "{", 400, "no JSON object"),
        ("namespaces", "[]", 400, "no JSON object"),
        ("namespaces", '{"namespace": ["a", "b"]}', 400, "one level"),
        ("namespaces", '{"namespace": "a"}', 400, "namespace is not a list"),
        ("namespaces/default/tables", '{"name": "t"}', 400, "schema is not an object"),
        ("namespaces/default/tables", '{"name": "a/b", "schema": {"type": "struct", "fields": []}}', 400, "a/b"),
        ("namespaces/default/tables/t", '{"updates": 1}', 400, "updates is not a list"),
        ("namespaces/none/tables", '{"name": "t", "schema": {"fields": []}}', 404, "Namespace does not exist: none"),
        ("transactions/commit", '{"table-changes": []}', 400, "1 to 100 tables"),
        ("transactions/commit", '{"table-changes": [null]}', 400, "identifier"),
        ("tables/rename", '{"source": {"namespace": ["default"], "name": "none"}, "destination": {}}', 404, "none"),
        ("namespaces", " " * (MOST_BODY + 1), 413, "at most 16 MiB"),
        ("namespaces", "[" * 100_000, 400, "no JSON object"),
    ],
)  # fmt: skip
def test_malformed_requests(console: Console, path: str, body: str, status: int, message: str) -> None:
    reply = console.visitor().send("POST", f"{V1}/{path}", body, {})
    assert reply.status == status, reply.text
    assert message in reply.data["error"]["message"]


def test_locations_outside_of_the_roots_are_not_written(console: Console, namespace: str) -> None:
    body = {"name": "t", "schema": SCHEMA_JSON, "location": "file:/etc/iceberg"}
    reply = post(console, f"namespaces/{namespace}/tables", body)
    assert (reply.status, reply.data["error"]["type"]) == (400, "BadRequestException")
    assert "does not access files there" in reply.data["error"]["message"]


def test_reports_are_accepted_and_pages_of_other_sites_are_not(console: Console, namespace: str) -> None:
    report = {"report-type": "scan-report", "table-name": "t"}
    assert post(console, f"namespaces/{namespace}/tables/staged/metrics", report).status == 204
    foreign = post(console, "namespaces", {"namespace": ["foreign"]}, Origin="http://elsewhere")
    assert (foreign.status, foreign.data["error"]["type"]) == (403, "ForbiddenException")
    assert console.visitor().get(f"{V1}/namespaces/foreign").status == 404


def test_changes_need_rights(guarded: Console) -> None:
    def send(method: str, path: str, body: Any, user: str) -> Reply:
        return guarded.visitor().send(method, f"{V1}/{path}", json.dumps(body), basic(user))

    assert send("POST", "namespaces", {"namespace": ["rest_writes"]}, LOW).status == 403
    assert send("POST", "namespaces", {"namespace": ["rest_writes"]}, ADMIN).status == 200
    table = {"name": "t", "schema": SCHEMA_JSON}
    path = "namespaces/rest_writes/tables"
    hidden = send("POST", path, table, LOW)
    assert (hidden.status, hidden.data["error"]["type"]) == (404, "NoSuchNamespaceException")
    made = send("POST", path, table, ADMIN)
    assert made.status == 200
    with guarded.client(ADMIN) as client:
        assert client.get_table("rest_writes", "t").owner == ADMIN
    hidden, missing = (send("POST", f"{path}/{name}", setting(a="b"), LOW) for name in ("t", "u"))
    assert hidden.status == missing.status == 404
    assert hidden.text.replace("rest_writes.t", "rest_writes.u") == missing.text
    with guarded.client(ADMIN) as client:
        client.grant_privileges(bag(on_table("rest_writes", "t"), "SELECT", LOW))
    assert send("POST", f"{path}/t", setting(a="b"), LOW).status == 403
    assert send("DELETE", f"{path}/t", None, LOW).status == 403
    assert len(metadata_files(made.data)) == 1
    with guarded.client(ADMIN) as client:
        client.grant_privileges(bag(on_table("rest_writes", "t"), "ALTER", LOW))
        client.create_database(Database("rest_low", ownerName=LOW))
    assert send("POST", f"{path}/t", setting(a="b"), LOW).status == 200
    other = send("POST", path, {"name": "other", "schema": SCHEMA_JSON}, ADMIN).data["metadata"]["location"]
    moved = {"updates": [{"action": "set-location", "location": other}]}
    assert send("POST", f"{path}/t", moved, LOW).status == 403
    stolen = {"name": "t", "metadata-location": made.data["metadata-location"]}
    assert send("POST", "namespaces/rest_low/register", stolen, LOW).status == 403
