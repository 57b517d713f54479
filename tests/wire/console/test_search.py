"""Searching for tables, and the lists of databases and tables."""

from __future__ import annotations

from tests.wire.builders import columns, descriptor, table, unique
from tests.wire.console.conftest import ADMIN, LOW, Console
from thrift_idl.gen.hive_metastore.ttypes import Database, FieldSchema

HOSTILE = ("<script>alert(1)</script>", "x" * 4000, "\u202eright to left \u05d0\u05d1", "🛫 &lt; \"'`")


def found(console: Console, query: str, user: str | None = None) -> list[str]:
    answer = console.visitor(user).json(f"/?q={query}")
    return [f"{each['database']}.{each['table']}" for each in answer["tables"]]


def test_tables_are_found_by_names_columns_and_comments(console: Console) -> None:
    database = unique("db")
    with console.client() as client:
        client.create_database(Database(database))
        cols = [FieldSchema("dep_delay", "int", "minutes of lateness"), FieldSchema("carrier", "string", None)]
        client.create_table(
            table(
                database, "flight_events", [("day", "string")], sd=descriptor(cols=cols), parameters={"comment": "Sky"}
            )
        )
        client.create_table(table(database, "other"))
    name = f"{database}.flight_events"
    for query in ("flight_events", "FLIGHT", "ight_ev", "events", "sky", "dep_delay", "delay", "lateness", "carrier"):
        assert name in found(console, query), query
    assert found(console, f"{database}.fl") == [name]
    assert found(console, f"{database}.xx") == []
    (result,) = console.visitor().json(f"/?q={database}.flight")["tables"]
    assert result["comment"] == "Sky"
    best = console.visitor().json("/?q=lateness")["tables"][0]
    assert (best["matched"], [column["name"] for column in best["columns"]]) == ("columns", ["dep_delay"])


def test_odd_queries_are_answered(console: Console) -> None:
    visitor = console.visitor()
    for query in (
        "%25",
        "%27",
        "%5C",
        "_",
        "a%20%26%20%7C%20!b",
        "%F0%9F%9B%AB",
        "%3A*",
        "'a':*",
        "()",
        "." * 50,
        "x" * 900,
    ):
        assert visitor.get(f"/?q={query}").status == 200, query
    assert visitor.get(f"/?q={'x' * 1001}").status == 400
    assert visitor.get("/?q=%00").status == 400


def test_hostile_texts_are_shown_as_text(console: Console) -> None:
    database = unique("db")
    with console.client() as client:
        client.create_database(Database(database, description=HOSTILE[0]))
        for number, text in enumerate(HOSTILE):
            cols = [FieldSchema("a", "int", text)]
            client.create_table(
                table(database, f"t{number}", owner=text[:100], sd=descriptor(cols=cols), parameters={"comment": text})
            )
    for path in ("/", f"/databases/hive/{database}", f"/?q={database}.t"):
        page = console.visitor().get(path).text
        assert "<script>alert" not in page
        assert "&lt;script&gt;" in page


def test_lists_have_pages(console: Console) -> None:
    database = unique("db")
    with console.client() as client:
        client.create_database(Database(database))
        for number in range(103):
            client.create_table(table(database, f"t{number:03}", sd=descriptor(cols=columns(("a", "int")))))
    visitor = console.visitor()
    first = visitor.json(f"/databases/hive/{database}")
    assert (len(first["tables"]), first["more"]) == (100, True)
    rest = visitor.json(f"/databases/hive/{database}?after={first['tables'][-1]['table']}")
    assert ([each["table"] for each in rest["tables"]], rest["more"]) == (["t100", "t101", "t102"], False)
    counts = {each["database"]: each["tables"] for each in visitor.json("/")["databases"]}
    assert counts[database] == 103


def test_hidden_objects_are_not_found(guarded: Console) -> None:
    shared, hidden = unique("shared"), unique("hidden")
    with guarded.client(ADMIN) as client:
        for name in (shared, hidden):
            client.create_database(Database(name))
            for suffix in ("a", "b"):
                cols = [FieldSchema("secretword", "int", "secretword")]
                client.create_table(table(name, f"secretword_{suffix}", sd=descriptor(cols=cols), owner=ADMIN))
        granted = table(shared, "secretword_mine", owner=LOW)
        client.create_table(granted)
    assert found(guarded, "secretword", LOW) == [f"{shared}.secretword_mine"]
    assert len(found(guarded, "secretword", ADMIN)) == 5
    visitor = guarded.visitor(LOW)
    counts = {each["database"]: each["tables"] for each in visitor.json("/")["databases"]}
    assert counts[shared] == 1
    assert hidden not in counts
    assert [each["table"] for each in visitor.json(f"/databases/hive/{shared}")["tables"]] == ["secretword_mine"]
    unknown = visitor.get("/databases/hive/no_such?format=json")
    assert (unknown.status, unknown.data) == (404, {"error": "database no_such not found"})
    reply = visitor.get(f"/databases/hive/{hidden}?format=json")
    assert (reply.status, reply.data) == (404, {"error": f"database {hidden} not found"})
