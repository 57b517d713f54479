"""The record of a table's scans."""

from __future__ import annotations

from metastore.console.scans import ScanOverviewService
from metastore.web.console.parameters import Parameters
from metastore.web.console.site import Data, Page


class ScanPages:
    """The page of scans."""

    def __init__(self, scans: ScanOverviewService) -> None:
        self._scans = scans

    def pages(self) -> list[Page]:
        """Returns the pages."""
        return [Page("/tables/{catalog}/{database}/{table}/scans", "scans.html", self.scans)]

    def scans(self, parameters: Parameters) -> Data:
        """What the queries of the table filter by, and what they read."""
        return self._scans.read(parameters.table())
