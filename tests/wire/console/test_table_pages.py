"""The pages about one table: shown and hidden content, and errors."""

from __future__ import annotations

import re
from datetime import date, timedelta
from html import unescape
from typing import Any

import pytest

from tests.wire.builders import columns, descriptor, partition, table, unique
from tests.wire.console.conftest import ADMIN, LOW, Console
from thrift_idl.gen.hive_metastore.ttypes import Database, FieldSchema

PAGES = ("", "/partitions", "/growth")


def make_table(client: Any, **fields: Any) -> tuple[str, str]:
    """Creates a table with four partitions. Returns its database and name."""
    database, name = unique("db"), "sales"
    client.create_database(Database(database))
    cols = [FieldSchema("a", "int", "<script>alert(1)</script>")]
    keys = [("dt", "string"), ("hour", "int")]
    client.create_table(table(database, name, keys, sd=descriptor(cols=cols), **fields))
    figures = {"numRows": "10", "totalSize": "2048", "numFiles": "2"}
    values = [["2026-01-01", "0"], ["2026-01-02", "5"], ["2026-01-04", "5"]]
    for number, each in enumerate(values):
        parameters = figures if number else {"numRows": "many", "totalSize": "9" * 30}
        client.add_partition(partition(database, name, each, parameters=parameters))
    return database, name


def test_a_table_has_its_sizes_newest_partition_and_last_change(console: Console) -> None:
    with console.client() as client:
        database, name = make_table(client, parameters={"password": "hunter2", "comment": "C"}, owner="somebody")
    visitor = console.visitor()
    shown = visitor.json(f"/tables/hive/{database}/{name}")
    assert shown["size"] | {"changed": None} == {
        "partitions": 3,
        "rows": 20,
        "bytes": 4096,
        "files": 4,
        "small_files": 4,
        "changed": None,
        "measured_at": None,
    }
    assert shown["newest"]["name"] == "dt=2026-01-04/hour=5"
    assert shown["changed"]["event"] == "ADD_PARTITION"
    assert (shown["owner"], shown["comment"], shown["parameters"]["password"]) == ("somebody", "C", "***")
    page = visitor.get(f"/tables/hive/{database}/{name}").text
    assert "hunter2" not in page
    assert "<script>alert" not in page
    assert visitor.json(f"/tables/hive/{database.upper()}/{name.upper()}")["table"] == name


def test_each_page_has_a_json_twin_at_an_address_of_its_own(console: Console) -> None:
    with console.client() as client:
        database, name = make_table(client)
    visitor, path = console.visitor(), f"/tables/hive/{database}/{name}"
    for page, twin in (("/", "/index.json"), (path, f"{path}.json"), (f"{path}/partitions", f"{path}/partitions.json")):
        reply = visitor.get(f"{twin}?by=rows" if "partitions" in twin else twin)
        assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
        assert reply.data.keys() == visitor.json(page).keys()
        assert f'href="{twin}"' in visitor.get(page).text
    missing = visitor.get(f"/tables/hive/{database}/missing.json")
    assert (missing.status, missing.data) == (404, {"error": f"{database}.missing table not found"})
    assert visitor.get("/nowhere.json").data == {"error": "This address has no page"}


def test_partitions_are_a_calendar_with_gaps(console: Console) -> None:
    with console.client() as client:
        database, name = make_table(client)
    visitor, path = console.visitor(), f"/tables/hive/{database}/{name}/partitions"
    shown = visitor.json(path)
    assert (shown["row"], shown["column"], shown["gaps"], shown["total"]) == ("dt:month", "dt:day", 1, 3)
    assert [cell["column"] for cell in shown["cells"] if cell["state"] == "gap"] == ["03"]
    day = visitor.json(f"{path}?where.dt=2026-01-02")
    assert [(cell["column"], cell["rows"]) for cell in day["cells"]] == [("5", 10)]
    assert [each["name"] for each in day["partitions"]] == ["dt=2026-01-02/hour=5"]
    assert visitor.json(f"{path}?where.dt=2025")["cells"] == []
    assert visitor.json(f"{path}?row=hour&column=dt:day&by=files")["rows"] == [str(hour) for hour in range(24)]
    page = visitor.get(path).text
    assert "where.dt=2026-01-02" in page
    assert '1 missing</span> <span class="nowrap">2026-01-03' in page
    assert "none missing" in visitor.get(f"{path}?where.dt=2026-01-02").text
    assert visitor.json(f"{path}?from=2")["partitions"][0]["name"] == "dt=2026-01-04/hour=5"


@pytest.mark.parametrize(("kind", "form"), [("date", "%Y-%m-%d"), ("string", "%Y%m%d"), ("int", "%Y%m%d")])
def test_cells_link_from_years_to_hours_and_back(console: Console, kind: str, form: str) -> None:
    database = unique("db")
    days = [date(2025, 12, 1) + timedelta(number) for number in range(60)]
    with console.client() as client:
        client.create_database(Database(database))
        client.create_table(table(database, "t", [("dt", kind), ("hour", "int")]))
        values = [[day.strftime(form), hour] for day in days for hour in ("1", "2")]
        client.add_partitions([partition(database, "t", each) for each in values])
    visitor, path = console.visitor(), f"/tables/hive/{database}/t/partitions"

    def followed(address: str, link: str, times: int) -> list[tuple[str, int]]:
        """Follows the first link of this form. Returns the addresses, with the numbers of their partitions."""
        visited = [(address, visitor.json(address)["total"])]
        for _ in range(times):
            address = unescape(re.findall(link, visitor.get(address).text)[0])
            visited.append((address, visitor.json(address)["total"]))
        return visited

    inwards = followed(f"{path}?row=dt%3Ayear&column=dt%3Amonth", r'<a class="cell" href="([^"]*)"', 2)
    assert [total for _, total in inwards] == [120, 62, 1]
    outwards = followed(inwards[-1][0], r'href="([^"]*)">(?:zoom out|remove)', 4)
    assert [total for _, total in outwards] == [1, 31, 31, 60, 120]


@pytest.mark.parametrize(
    "query", ["row=nokey", "column=dt:week", "by=size", "where.nokey=1", "where.hour=x", "where.dt=%00", "where.x"]
)
def test_a_broken_filter_is_one_line(console: Console, query: str) -> None:
    with console.client() as client:
        database, name = make_table(client)
    reply = console.visitor().get(f"/tables/hive/{database}/{name}/partitions?{query}&format=json")
    assert (reply.status, "\n" in reply.data["error"]) == (400, False)


def test_unpartitioned_tables_have_pages_too(console: Console) -> None:
    database = unique("db")
    with console.client() as client:
        client.create_database(Database(database))
        client.create_table(table(database, "flat", parameters={"numRows": "7", "totalSize": "70"}))
        client.create_table(
            table(database, "bare", sd=descriptor(cols=columns(("a", "int")), numBuckets=3, bucketCols=["a"]))
        )
    visitor = console.visitor()
    assert visitor.json(f"/tables/hive/{database}/flat")["size"]["rows"] == 7
    for name in ("flat", "bare"):
        for page in PAGES:
            assert visitor.get(f"/tables/hive/{database}/{name}{page}").status == 200


def test_the_growth_page_needs_a_known_order(console: Console) -> None:
    assert console.visitor().json("/growth?by=files")["by"] == "files"
    assert console.visitor().get("/growth?by=rows").status == 400


@pytest.mark.parametrize("page", PAGES)
def test_hidden_tables_are_reported_as_missing(guarded: Console, page: str) -> None:
    with guarded.client(ADMIN) as client:
        database, name = make_table(client, owner=ADMIN)
        client.create_table(table(database, "mine", owner=LOW))
    visitor = guarded.visitor(LOW)
    hidden = visitor.get(f"/tables/hive/{database}/{name}{page}?format=json")
    missing = visitor.get(f"/tables/hive/{database}/missing{page}?format=json")
    assert (hidden.status, hidden.data) == (404, {"error": f"{database}.{name} table not found"})
    assert (missing.status, missing.data) == (404, {"error": f"{database}.missing table not found"})
    assert visitor.get(f"/tables/hive/{database}/mine{page}?format=json").status == 200
    assert guarded.visitor(ADMIN).get(f"/tables/hive/{database}/{name}{page}").status == 200
