"""Iceberg tables and views are read by REST as by Thrift."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

from metastore.iceberg.metadata import MOST, entity_tag
from metastore.web.iceberg import ENDPOINTS
from tests.wire.builders import table as hive_table
from tests.wire.console.conftest import ADMIN, LOW, PASSWORDS, Console
from tests.wire.iceberg.conftest import V1, basic
from thrift_idl.gen.hive_metastore.ttypes import Database


def rest(console: Console) -> RestCatalog:
    return RestCatalog("rest", uri=f"{console.url}/iceberg")


def test_pyiceberg_reads_what_was_written_by_thrift(console: Console, iceberg: tuple[str, Any]) -> None:
    database, written = iceberg
    catalog = rest(console)
    assert (database,) in catalog.list_namespaces()
    assert catalog.list_tables(database) == [(database, "t")]
    properties = catalog.load_namespace_properties(database)
    assert (properties["comment"], properties["k"]) == ("a namespace", "v")
    assert catalog.namespace_exists(database)
    assert catalog.table_exists((database, "t"))
    table = catalog.load_table((database, "t"))
    assert table.metadata == written.metadata
    assert table.metadata_location == written.metadata_location
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2, 3]


def test_missing_objects_are_missing_for_pyiceberg(console: Console, iceberg: tuple[str, Any]) -> None:
    database, _ = iceberg
    catalog = rest(console)
    assert not catalog.table_exists((database, "none"))
    assert not catalog.namespace_exists("none")
    with pytest.raises(NoSuchTableError):
        catalog.load_table((database, "none"))
    with pytest.raises(NoSuchNamespaceError):
        catalog.list_tables("none")
    assert catalog.list_namespaces(database) == []


def test_config_advertises_what_is_served(console: Console) -> None:
    visitor = console.visitor()
    config = visitor.get(f"{V1}/config").data
    assert (config["overrides"], config["idempotency-key-lifetime"]) == ({}, "PT1H")
    assert config["endpoints"] == [f"{method} {path}" for method, path in ENDPOINTS]
    missing = visitor.get(f"{V1}/config?warehouse=none")
    assert (missing.status, missing.data["error"]["type"]) == (404, "NoSuchWarehouseException")
    assert "one of: hive" in missing.data["error"]["message"]


def test_hive_tables_are_not_listed_and_say_what_they_are(console: Console, iceberg: tuple[str, Any]) -> None:
    database, _ = iceberg
    with console.client() as client:
        client.create_table(hive_table(database, "plain"))
    visitor = console.visitor()
    listed = visitor.get(f"{V1}/namespaces/{database}/tables").data
    assert listed == {"identifiers": [{"namespace": [database], "name": "t"}], "next-page-token": None}
    reply = visitor.get(f"{V1}/namespaces/{database}/tables/plain")
    assert reply.status == 404
    assert reply.data["error"] == {
        "message": f"Table does not exist: {database}.plain is a Hive table. Read it through Thrift",
        "type": "NoSuchTableException",
        "code": 404,
    }
    assert visitor.send("HEAD", f"{V1}/namespaces/{database}/tables/plain", None, {}).status == 404
    assert visitor.get(f"{V1}/namespaces/{database}/views/t").data["error"]["type"] == "NoSuchViewException"


def test_a_view_is_listed_and_loaded(console: Console, iceberg: tuple[str, Any]) -> None:
    database, table = iceberg
    content = {"view-uuid": "u", "format-version": 1, "versions": []}
    path = Path(urlsplit(table.location()).path) / "v1.metadata.json"
    path.write_text(json.dumps(content))
    parameters = {"table_type": "ICEBERG-VIEW", "metadata_location": f"file:{path}"}
    with console.client() as client:
        view = hive_table(database, "v", parameters=parameters, tableType="VIRTUAL_VIEW")
        view.viewOriginalText = view.viewExpandedText = "SELECT 1"
        client.create_table(view)
    visitor = console.visitor()
    assert [each["name"] for each in visitor.get(f"{V1}/namespaces/{database}/views").data["identifiers"]] == ["v"]
    assert visitor.send("HEAD", f"{V1}/namespaces/{database}/views/v", None, {}).status == 204
    loaded = visitor.get(f"{V1}/namespaces/{database}/views/v").data
    assert loaded == {"metadata-location": f"file:{path}", "metadata": content, "config": {}}
    assert visitor.get(f"{V1}/namespaces/{database}/tables/v").status == 404


def test_the_bytes_of_the_metadata_file_are_passed_through(console: Console, iceberg: tuple[str, Any]) -> None:
    database, table = iceberg
    content = Path(urlsplit(table.metadata_location).path).read_bytes()
    reply = console.visitor().get(f"{V1}/namespaces/{database}/tables/t")
    assert content.decode() in reply.text
    assert reply.headers["content-type"] == "application/json"


def test_an_unchanged_table_is_not_sent_again(console: Console, iceberg: tuple[str, Any]) -> None:
    database, table = iceberg
    visitor, path = console.visitor(), f"{V1}/namespaces/{database}/tables/t"
    tag = entity_tag(table.metadata_location, referred=False)
    Path(urlsplit(table.metadata_location).path).rename(f"{urlsplit(table.metadata_location).path}.away")
    unchanged = visitor.get(path, **{"If-None-Match": tag})  # without reading the file
    assert (unchanged.status, unchanged.text, unchanged.headers["etag"]) == (304, "", tag)
    assert visitor.get(f"{path}?snapshots=refs", **{"If-None-Match": tag}).status == 404  # another tag
    Path(f"{urlsplit(table.metadata_location).path}.away").rename(urlsplit(table.metadata_location).path)
    assert visitor.get(path).headers["etag"] == tag
    table.append(table.scan().to_arrow())
    changed = visitor.get(path, **{"If-None-Match": tag})
    assert changed.status == 200
    assert changed.headers["etag"] != tag


def test_snapshots_of_branches_and_tags(console: Console, iceberg: tuple[str, Any]) -> None:
    database, table = iceberg
    first, second = (snapshot.snapshot_id for snapshot in table.metadata.snapshots)
    visitor, path = console.visitor(), f"{V1}/namespaces/{database}/tables/t"
    every = visitor.get(f"{path}?snapshots=all").data["metadata"]
    named = visitor.get(f"{path}?snapshots=refs").data["metadata"]
    assert [each["snapshot-id"] for each in every["snapshots"]] == [first, second]
    assert [each["snapshot-id"] for each in named["snapshots"]] == [second]
    assert {**named, "snapshots": None} == {**every, "snapshots": None}
    assert visitor.get(f"{path}?snapshots=some").data["error"]["type"] == "BadRequestException"


def test_lists_have_pages_only_if_they_are_asked_for(console: Console, iceberg: tuple[str, Any]) -> None:
    database, _ = iceberg
    with console.client() as client:
        for name in ("a", "b", "z"):
            table = hive_table(database, name, parameters={"table_type": "ICEBERG", "metadata_location": "file:/m"})
            client.create_table(table)
    visitor, path = console.visitor(), f"{V1}/namespaces/{database}/tables"

    def names(query: str) -> tuple[list[str], str | None]:
        data = visitor.get(f"{path}?{query}").data
        return [each["name"] for each in data["identifiers"]], data["next-page-token"]

    assert names("") == names("pageToken=") == names("pageSize=2") == (["a", "b", "t", "z"], None)
    assert names("pageToken=&pageSize=3") == (["a", "b", "t"], "t")
    assert names("pageToken=t&pageSize=3") == (["z"], None)
    assert visitor.get(f"{path}?pageToken=&pageSize=x").status == 400


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "namespaces/a%1Fb", 404, "NoSuchNamespaceException"),
        ("GET", "namespaces/a%1Fb/tables/t", 404, "NoSuchTableException"),
        ("GET", "namespaces/a+b", 404, "NoSuchNamespaceException"),
        ("GET", "namespaces/a%2Fb/tables", 404, "NoSuchNamespaceException"),
        ("GET", "namespaces//tables", 404, "NotFoundException"),
        ("GET", "nothing", 404, "NotFoundException"),
        ("GET", "", 404, "NotFoundException"),
        ("GET", "none/namespaces/default", 404, "NoSuchNamespaceException"),
        ("PUT", "namespaces", 405, "UnsupportedOperationException"),
        ("POST", "namespaces", 400, "BadRequestException"),
        ("DELETE", "namespaces/default", 400, "BadRequestException"),
        ("POST", "oauth/tokens", 404, "NotFoundException"),
        ("PATCH", "namespaces", 405, "UnsupportedOperationException"),
        ("OPTIONS", "", 404, "NotFoundException"),
        ("GET", "namespaces/default/tables?pageSize=-1", 400, "BadRequestException"),
    ],
)
def test_errors_have_the_form_of_the_protocol(console: Console, method: str, path: str, status: int, kind: str) -> None:
    reply = console.visitor().send(method, f"{V1}/{path}", None, {})
    assert reply.status == status
    error = reply.data["error"]
    assert (error["type"], error["code"], set(error)) == (kind, status, {"message", "type", "code"})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is no metadata of Iceberg"),
        (b"[]", "is no metadata of Iceberg"),
        (b"\x1f\x8bx", "is damaged"),
        (gzip.compress(b"", mtime=0)[:10] + b"\xff" * 9, "is damaged"),
        (b"[" + b" " * MOST, "has more than 32 MiB"),
        (b"\x1f\x8b" + gzip.compress(b" " * (MOST + 1), mtime=0)[2:], "has more than 32 MiB"),
        (None, "does not exist"),
    ],
)
def test_metadata_files_that_cannot_be_read(
    console: Console, iceberg: tuple[str, Any], content: bytes | None, message: str
) -> None:
    database, table = iceberg
    path = Path(urlsplit(table.metadata_location).path)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    reply = console.visitor().get(f"{V1}/namespaces/{database}/tables/t")
    assert reply.status == (404 if content is None else 400)
    assert message in reply.data["error"]["message"]


def test_files_outside_of_the_roots_are_not_read(console: Console, iceberg: tuple[str, Any]) -> None:
    database, _ = iceberg
    parameters = {"table_type": "ICEBERG", "metadata_location": "file:/etc/passwd"}
    with console.client() as client:
        client.create_table(hive_table(database, "outside", parameters=parameters))
    reply = console.visitor().get(f"{V1}/namespaces/{database}/tables/outside")
    assert (reply.status, reply.data["error"]["type"]) == (400, "BadRequestException")
    assert "the server does not access files there" in reply.data["error"]["message"]


def test_other_catalogs_have_a_prefix(console: Console) -> None:
    from thrift_idl.gen.hive_metastore.ttypes import Catalog, CreateCatalogRequest

    with console.client() as client:
        location = f"{client.get_database('default').locationUri}/other_catalog"
        client.create_catalog(CreateCatalogRequest(Catalog("other", None, location)))
        client.create_database(Database("inside", catalogName="other"))
    visitor = console.visitor()
    assert visitor.get(f"{V1}/config?warehouse=other").data["overrides"] == {"prefix": "other"}
    listed = visitor.get(f"{V1}/other/namespaces").data["namespaces"]
    assert ["inside"] in listed
    assert ["inside"] not in visitor.get(f"{V1}/namespaces").data["namespaces"]


def test_rights(guarded: Console) -> None:
    with guarded.client(ADMIN) as client:
        client.create_database(Database("rest_rights"))
        for name, owner in (("hidden", ADMIN), ("mine", LOW)):
            location = f"{client.get_database('rest_rights').locationUri}/{name}"
            table = hive_table("rest_rights", name, owner=owner)
            metadata = Path(urlsplit(location).path) / "m.metadata.json"
            table.parameters |= {"table_type": "ICEBERG", "metadata_location": f"{location}/m.metadata.json"}
            client.create_table(table)
            metadata.write_text('{"format-version": 2}')
    visitor = guarded.visitor()
    path = f"{V1}/namespaces/rest_rights/tables"
    anonymous = visitor.get(path)
    assert (anonymous.status, anonymous.data["error"]["type"]) == (401, "NotAuthorizedException")
    wrong = visitor.get(path, Authorization="Basic bG93Ondyb25n")
    assert (wrong.status, wrong.data["error"]["type"]) == (401, "NotAuthorizedException")
    assert [each["name"] for each in visitor.get(path, **basic(ADMIN)).data["identifiers"]] == ["hidden", "mine"]
    assert [each["name"] for each in visitor.get(path, **basic(LOW)).data["identifiers"]] == ["mine"]
    assert visitor.get(f"{path}/mine", **basic(LOW)).data["metadata"] == {"format-version": 2}
    auth = {"type": "basic", "basic": {"username": LOW, "password": PASSWORDS[LOW]}}
    catalog = RestCatalog("rest", uri=f"{guarded.url}/iceberg", auth=auth)  # as docs/how-to/iceberg-rest.md says
    assert catalog.list_tables("rest_rights") == [("rest_rights", "mine")]
    hidden, missing = (visitor.get(f"{path}/{name}", **basic(LOW)) for name in ("hidden", "missing"))
    assert hidden.status == missing.status == 404
    assert hidden.text.replace("hidden", "missing") == missing.text


def test_a_user_who_only_sees_a_table_does_not_read_its_metadata(guarded: Console) -> None:
    from tests.wire.authorization.granting import bag, everywhere

    with guarded.client(ADMIN) as client:
        client.create_database(Database("rest_select"))
        location = f"{client.get_database('rest_select').locationUri}/seen"
        table = hive_table("rest_select", "seen", owner=ADMIN)
        table.parameters |= {"table_type": "ICEBERG", "metadata_location": f"{location}/m.metadata.json"}
        client.create_table(table)
        client.grant_privileges(bag(everywhere("rest_select.seen"), "INSERT", LOW))
    reply = guarded.visitor().get(f"{V1}/namespaces/rest_select/tables/seen", **basic(LOW))
    assert (reply.status, reply.data["error"]["type"]) == (403, "ForbiddenException")


def test_requests_are_counted_as_calls(console: Console, iceberg: tuple[str, Any]) -> None:
    database, _ = iceberg
    visitor = console.visitor()
    before = _calls(visitor.get("/metrics").text)
    visitor.get(f"{V1}/namespaces/{database}/tables/t")
    for _ in range(100):
        if (after := _calls(visitor.get("/metrics").text)) > before:
            break
    assert after == before + 1


def _calls(text: str) -> float:
    prefix = 'metastore_calls_total{exception="",method="get_table_req",outcome="ok"} '
    return next((float(line.removeprefix(prefix)) for line in text.splitlines() if line.startswith(prefix)), 0.0)
