"""The greatest tables, and the growth of the catalog."""

from __future__ import annotations

from typing import Final

from metastore.console.sizes import ORDERS, SizeOverview
from metastore.web.console.parameters import Parameters
from metastore.web.console.pictures.lines import line_chart
from metastore.web.console.site import Data, Page

_LISTED: Final = 50
_CHARTS: Final = (("Bytes", "bytes", "bytes"), ("Files", "files", "count"), ("Tables", "tables", "count"))


class GrowthPages:
    """The page of sizes."""

    def __init__(self, sizes: SizeOverview) -> None:
        self._sizes = sizes

    def pages(self) -> list[Page]:
        """Returns the pages."""
        return [Page("/growth", "growth.html", self.growth, _with_charts)]

    def growth(self, parameters: Parameters) -> Data:
        """The tables with the most bytes, files, small files or growth, and the sizes of the whole catalog by day."""
        order = parameters.choice("by", ORDERS)
        tables, catalog = self._sizes.top(order, _LISTED)
        return {"by": order, "tables": tables, "catalog": catalog}


def _with_charts(data: Data) -> Data:
    charts = [(label, line_chart(data["catalog"], name, unit)) for label, name, unit in _CHARTS]
    most = max((table[data["by"]] for table in data["tables"]), default=0) or 1
    bars = [round(160 * max(0, table[data["by"]]) / most, 1) for table in data["tables"]]
    return {**data, "charts": [(label, chart) for label, chart in charts if chart], "orders": ORDERS, "bars": bars}
