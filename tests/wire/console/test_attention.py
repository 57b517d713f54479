"""The first page shows what needs attention; lists are in the order of values; wrong names lead to the right ones."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.wire.builders import columns, descriptor, partition, table, unique
from tests.wire.console.conftest import ADMIN, LOW, Console
from thrift_idl.gen.hive_metastore.ttypes import Database


def figures(rows: int, size: int, files: int) -> dict[str, str]:
    return {"numRows": str(rows), "totalSize": str(size), "numFiles": str(files)}


def make_days(client: Any, name: str, ages: list[int], **fields: Any) -> str:
    """Creates a database with a table whose partitions are days, so many days ago. Returns the database."""
    database = unique("days")
    client.create_database(Database(database))
    client.create_table(table(database, name, [("dt", "string")], **fields))
    today = datetime.now(UTC).date()
    client.add_partitions([partition(database, name, [str(today - timedelta(age))]) for age in ages])
    return database


def test_late_tables_and_missing_days_need_attention(console: Console) -> None:
    with console.client() as client:
        late = make_days(client, "clicks", list(range(9, 30)))
        holed = make_days(client, "orders", [1, 2, 4, 5, 6, 7])
        fine = make_days(client, "fine", list(range(1, 20)))
    visitor = console.visitor()
    items = {each["database"]: each for each in visitor.json("/")["attention"]}
    assert (items[late]["kind"], items[late]["page"]) == ("late", "partitions")
    assert "usually one a day" in items[late]["text"]
    assert items[holed]["kind"] == "missing"
    assert items[holed]["text"].startswith("1 day is missing: ")
    assert fine not in items
    links = re.findall(r'<a href="(/tables/[^"]*)"', visitor.get("/").text.partition("<h2>Databases")[0])
    assert f"/tables/hive/{late}/clicks/partitions" in links
    assert {visitor.get(link).status for link in links} == {200}


def test_databases_have_their_last_change(console: Console) -> None:
    with console.client() as client:
        database = make_days(client, "t", [1])
    (shown,) = [each for each in console.visitor().json("/")["databases"] if each["database"] == database]
    assert abs(shown["changed"] - datetime.now(UTC).timestamp()) < 600


def test_what_is_hidden_needs_nobodys_attention(guarded: Console) -> None:
    with guarded.client(ADMIN) as client:
        hidden = make_days(client, "secret", list(range(9, 30)), owner=ADMIN)
        mine = make_days(client, "mine", list(range(9, 30)), owner=LOW)
    named = {each["database"] for each in guarded.visitor(LOW).json("/")["attention"]}
    assert mine in named
    assert hidden not in named
    page = guarded.visitor(LOW).get(f"/tables/hive/{hidden}/secrte").text
    assert "Did you mean" not in page
    assert f"/tables/hive/{hidden}/secret" in guarded.visitor(ADMIN).get(f"/tables/hive/{hidden}/secrte").text


@pytest.fixture(scope="module")
def numbered(console: Console) -> str:
    """The database of a table with 30 numbered partitions; the greater the number, the more and the smaller files."""
    database = unique("numbered")
    with console.client() as client:
        client.create_database(Database(database))
        client.create_table(table(database, "t", [("n", "int"), ("part", "string")]))
        numbers = [partition(database, "t", [str(n), "x"], parameters=figures(n, 2**31, 10 * n)) for n in range(1, 30)]
        client.add_partitions([*numbers, partition(database, "t", ["__HIVE_DEFAULT_PARTITION__", "x"])])
    return database


def listed(console: Console, address: str) -> list[str]:
    return [each["name"].split("/")[0] for each in console.visitor().json(address)["partitions"]]


def test_partitions_are_in_the_order_of_their_values(console: Console, numbered: str) -> None:
    path = f"/tables/hive/{numbered}/t/partitions"
    assert listed(console, path) == [f"n={n}" for n in range(1, 26)]
    page = console.visitor().get(path).text
    (more,) = re.findall(r'<a href="([^"#]*)#list">More partitions', page)
    rest = [*(f"n={n}" for n in range(26, 30)), "n=__HIVE_DEFAULT_PARTITION__"]
    assert listed(console, more.replace("&amp;", "&")) == rest


@pytest.mark.parametrize(
    ("sort", "first"), [("rows", ["n=29", "n=28"]), ("files", ["n=29", "n=28"]), ("small_files", ["n=29", "n=28"])]
)
def test_partitions_are_sorted_by_a_figure(console: Console, numbered: str, sort: str, first: list[str]) -> None:
    path = f"/tables/hive/{numbered}/t/partitions?sort={sort}"
    assert listed(console, path)[:2] == first
    assert listed(console, f"{path}&where.n=7") == ["n=7"]
    small = {each["name"]: each["small_files"] for each in console.visitor().json(path)["partitions"]}
    assert small["n=29/part=x"] == 290


def test_the_small_files_of_a_table_lead_to_its_partitions(console: Console, numbered: str) -> None:
    page = console.visitor().get(f"/tables/hive/{numbered}/t").text
    assert re.search(r'<a href="/tables/hive/\w+/t/partitions\?sort=small_files#list">[\d,]+ small</a>', page)


def test_a_view_has_no_files(console: Console) -> None:
    database = unique("views")
    with console.client() as client:
        client.create_database(Database(database))
        sd = descriptor(
            cols=columns(("a", "int")), inputFormat="org.apache.hadoop.mapred.SequenceFileInputFormat", location=None
        )
        texts = {"viewOriginalText": "SELECT 1 AS a", "viewExpandedText": "SELECT 1 AS a"}
        client.create_table(table(database, "v", sd=sd, tableType="VIRTUAL_VIEW", **texts))
    page = console.visitor().get(f"/tables/hive/{database}/v").text
    assert "SequenceFile" not in page
    assert "<dt>Size</dt>" not in page
    assert "Policies" not in page
    assert "CREATE VIEW" in page


def test_a_wrong_name_leads_to_the_right_one(console: Console) -> None:
    with console.client() as client:
        database = make_days(client, "customers", [1])
    visitor = console.visitor()
    right = f'<a href="/tables/hive/{database}/customers">'
    for address in (f"/tables/hive/{database}/custmers", f"/tables/hive/{database}/customer/growth", "/?q=custmoers"):
        text = visitor.get(address).text
        assert "Did you mean" in text, address
        assert right in text, address
    assert f'<a href="/databases/hive/{database}">' in visitor.get(f"/databases/hive/{database}s").text
    assert "Did you mean" not in visitor.get(f"/tables/hive/{database}/zzz_qqq").text


def test_a_missing_page_keeps_the_navigation(guarded: Console, console: Console) -> None:
    for visitor in (console.visitor(), guarded.visitor(ADMIN)):
        for address in ("/nowhere", "/tables/hive/default/no_such", "/databases/hive/no_such"):
            reply = visitor.get(address)
            assert reply.status == 404
            assert '<a href="/health"' in reply.text, address
    page = guarded.visitor(ADMIN).get("/nowhere").text
    assert "Log out" in page
    assert '<a href="/health"' not in guarded.visitor(LOW).get("/nowhere").text
    assert "Log out" not in guarded.visitor().get("/nowhere").text
