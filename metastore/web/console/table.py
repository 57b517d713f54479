"""The page about one table."""

from __future__ import annotations

from metastore.console.sizes import SizeOverview
from metastore.console.table import TableOverviewService
from metastore.web.console.parameters import Parameters
from metastore.web.console.pictures.lines import line_chart
from metastore.web.console.site import Data, Page

_PATH = "/tables/{catalog}/{database}/{table}"


class TablePages:
    """The pages about one table, and its sizes."""

    def __init__(self, overview: TableOverviewService, sizes: SizeOverview) -> None:
        self._overview = overview
        self._sizes = sizes

    def pages(self) -> list[Page]:
        """Returns the pages."""
        return [
            Page(_PATH, "table.html", self.overview),
            Page(f"{_PATH}/growth", "table_growth.html", self.growth, _with_chart),
        ]

    def overview(self, parameters: Parameters) -> Data:
        """The table."""
        return self._overview.read(parameters.table())

    def growth(self, parameters: Parameters) -> Data:
        """Its sizes by day."""
        name = parameters.table()
        history = self._sizes.of_table(name)
        return {"catalog": name.catalog, "database": name.database, "table": name.name, "history": history}


def _with_chart(data: Data) -> Data:
    charts = [(label, line_chart(data["history"], name, unit)) for label, name, unit in _CHARTS]
    return {**data, "charts": [(label, chart) for label, chart in charts if chart]}


_CHARTS = (("Bytes", "bytes", "bytes"), ("Files", "files", "count"), ("Partitions", "partitions", "count"))
