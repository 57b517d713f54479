"""Every link of every page leads to a page, for the administrator and for the user with the lowest rights."""

from __future__ import annotations

import re
from collections import Counter, deque
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.wire.authorization.granting import grant, on_table
from tests.wire.builders import columns, descriptor, partition, table, unique
from tests.wire.console.conftest import ADMIN, LOW, Console
from tests.wire.console.test_activity_pages import make_tables
from tests.wire.console.visiting import Visitor
from tests.wire.writing import begin
from thrift_idl.gen.hive_metastore.ttypes import Database, FieldSchema, LockComponent, LockLevel, LockRequest, LockType

MOST = 5  # visits of each kind of page
KINDS = {
    "/",
    "/changes",
    "/databases/*",
    "/growth",
    "/locks",
    "/now",
    "/tables/*",
    "/tables/*/dependencies",
    "/tables/*/growth",
    "/tables/*/history",
    "/tables/*/partitions",
    "/tables/*/scans",
    "/tables/*/skew",
}
HOSTILE = [
    "<script>alert(1)</script>",
    "a/b?c=d&e#f",
    "%2e%2e",
    "\u202e\u05d0",
    "x" * 150,
    " ",
    "'\"`",
    "dt=1/hour=2",
    "\u00e9\U0001f6eb",
]


class Links(HTMLParser):
    """The addresses to which a page leads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in ("href", "src") and value and tag != "use"]


def kind(address: str) -> str:
    """Returns the address with `*` for the names in its path."""
    path = urlsplit(address).path
    return re.sub(r"^/(tables|databases)/[^/]+/[^/]+(/[^/]+)?", r"/\1/*", path) if path != "/" else path


def crawl(visitor: Visitor, starts: list[str]) -> Counter[str]:
    """Visits pages from some addresses on. Returns the number of visits by kind. Fails on a link without a page."""
    waiting, known, visits = deque((start, "") for start in starts), set(starts), Counter[str]()
    while waiting:
        address, source = waiting.popleft()
        visits[kind(address)] += 1
        if visits[kind(address)] > MOST:
            continue
        reply = visitor.get(address)
        assert reply.status == 200, (address, source, reply.text[-300:])
        if "html" not in reply.headers["content-type"]:
            continue
        links = Links()
        links.feed(reply.text)
        for found in links.found:
            assert found.startswith(("/", "#", "?")), (address, found)
            link = found.partition("#")[0]
            if link.startswith("/") and link not in known:
                known.add(link)
                waiting.append((link, address))
    return visits


@pytest.fixture(scope="module")
def addresses(console: Console) -> list[str]:
    """Pages of a table with hostile values, and of a table with dependents, locks and writes."""
    database = unique("links")
    with console.client() as client:
        client.create_database(Database(database, description=HOSTILE[0]))
        keys = [("dt", "string"), ("part", "string"), ("table", "string")]
        sd = descriptor(cols=[FieldSchema("a", "int", HOSTILE[0]), FieldSchema("order by", "string", None)])
        client.create_table(table(database, "t", keys, sd=sd))
        values = [[f"2026-01-0{day}", text, text] for day in (1, 3) for text in HOSTILE]
        client.add_partitions([partition(database, "t", each) for each in values])
        made = make_tables(client)
        begin(client, (made, "plain"))
        component = LockComponent(type=LockType.SHARED_READ, level=LockLevel.TABLE, dbname=made, tablename="base")
        client.lock(LockRequest([component], user="<b>", hostname=HOSTILE[2]))
    home = f"/tables/hive/{database}/t"
    return [
        home,
        f"{home}/partitions?row=part&column=table",
        f"{home}/partitions?table=x&page=y&format=html",
        f"/tables/hive/{made}/base/dependencies",
        "/?q=a",
        "/",
    ]


def test_every_link_has_a_page(console: Console, addresses: list[str]) -> None:
    visits = crawl(console.visitor(), addresses)
    assert KINDS | {"/health"} <= set(visits), "the crawler has missed a kind of page"


def test_the_lowest_user_finds_no_dead_link(guarded: Console) -> None:
    with guarded.client(ADMIN) as client:
        make_tables(client, owner=ADMIN)
        visible = make_tables(client, owner=LOW)
        client.create_table(table(visible, "own", sd=descriptor(cols=columns(("x", "int"))), owner=LOW))
        other = make_tables(client, owner=ADMIN)
        grant(client, on_table(other, "base"), "ALTER", LOW)
    for user, kinds in ((LOW, KINDS), (ADMIN, KINDS | {"/health"})):
        visits = crawl(
            guarded.visitor(user), [f"/tables/hive/{other}/base", "/", "/?q=base", f"/tables/hive/{visible}/base"]
        )
        assert set(visits) >= kinds, "the crawler has missed a kind of page"
        assert ("/health" in visits) == (user == ADMIN), "its link is for those who may open it"


def test_addresses_that_no_page_links_to_are_no_failures(console: Console, addresses: list[str]) -> None:
    visitor = console.visitor()
    odd = [
        "?row=x",
        "?column=",
        "?by=x",
        "?after=%00",
        "?where.dt=%FF",
        "?where.=",
        "?where.dt=2026-01&where.x=1",
        "?before=-1",
        "?before=1e9",
    ]
    suffixes = ["", "/partitions", "/growth", "/history", "/dependencies", "/skew", "/scans"]
    statuses = {visitor.get(addresses[0] + suffix + query).status for suffix in suffixes for query in odd}
    assert statuses <= {200, 400}
    others = [
        "/tables/hive/%3Cb%3E/%22",
        "/tables/%2F/%2F/%2F",
        "/databases/hive/%00",
        "/%ff",
        "/tables/hive/x",
        "/static/",
        "/static/../console.css",
        "/static/%2e%2e/server.py",
    ]
    assert {visitor.get(address).status for address in others} <= {400, 404}


def test_a_hostile_name_is_text(console: Console, addresses: list[str]) -> None:
    page: Any = console.visitor().get(f"{addresses[0]}/partitions?row=part&column=table").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
