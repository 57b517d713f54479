"""The first page, searches, and the tables of a database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from metastore.console.attention import AttentionService
from metastore.console.search import SearchService
from metastore.domain.names import DEFAULT_CATALOG
from metastore.web.console.parameters import Parameters
from metastore.web.console.site import Data, Page

_FOUND: Final = 50
_LISTED: Final = 100
_SHOWN_COLUMNS: Final = 8
REASONS: Final = ("name", "name", "name", "words", "columns")


class CatalogPages:
    """Pages that lead to tables."""

    def __init__(
        self, search: SearchService, attention: AttentionService, warnings: Callable[[], list[dict[str, str]]]
    ) -> None:
        """`warnings`: returns the warnings of the page of health that the caller may see."""
        self._search = search
        self._attention = attention
        self._warnings = warnings

    def pages(self) -> list[Page]:
        """Returns the pages."""
        return [
            Page("/", "home.html", self.home),
            Page("/databases/{catalog}/{database}", "database.html", self.database),
        ]

    def home(self, parameters: Parameters) -> Data:
        """The results of a search, or the databases."""
        query = parameters.text("q")
        if query:
            matches = self._search.tables(query, _FOUND)
            tables = [_result(table, query) for table in matches]
            near = [] if matches else self._search.near(query)
            return {"q": query, "tables": tables, "total": matches[0]["total"] if matches else 0, "near": near}
        after = parameters.text("after")
        catalog = parameters.text("catalog", "" if not after else DEFAULT_CATALOG)
        attention: dict[str, Any] = {"attention": [], "warnings": []}
        if after or catalog:
            databases = self._attention.databases(catalog, after, _LISTED + 1)
        else:
            databases, items = self._attention.first_page(_LISTED + 1)
            attention = {"attention": items, "warnings": self._warnings()}
        return {"q": "", "databases": databases[:_LISTED], "more": len(databases) > _LISTED, **attention}

    def database(self, parameters: Parameters) -> Data:
        """The tables of a database."""
        database = parameters.database()
        tables = self._search.tables_of(database, parameters.text("after"), _LISTED + 1)
        for table in tables:
            table["partition_keys"] = [key["name"] for key in table["partition_keys"]]
        named = {"catalog": database.catalog, "database": database.name}
        return {**named, "tables": tables[:_LISTED], "more": len(tables) > _LISTED}


def _result(table: dict[str, Any], query: str) -> dict[str, Any]:
    """Returns a found table with the columns that match."""
    words = query.lower().split()
    columns = [*table["columns"], *table["partition_keys"]]
    matching = [
        {"name": column["name"], "type": column["type"], "comment": (column.get("comment") or "")[:200]}
        for column in columns
        if any(word in f"{column['name']} {column.get('comment') or ''}".lower() for word in words)
    ]
    kept = {name: table[name] for name in ("catalog", "database", "table", "type", "owner", "comment")}
    return {**kept, "matched": REASONS[table["rank"]], "columns": matching[:_SHOWN_COLUMNS]}


def near_names(search: SearchService, path: Mapping[str, str]) -> list[Data]:
    """Returns tables or databases whose names are like those in the path of an address without an object."""
    parameters = Parameters(path, {})
    if "table" in path:
        name = parameters.table()
        return search.tables_near(parameters.database(), name.name)
    return search.databases_near(parameters.database()) if "database" in path else []
