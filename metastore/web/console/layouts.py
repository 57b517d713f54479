"""The skew and the buckets of a table."""

from __future__ import annotations

from typing import Any, Final

from metastore.console.layouts import LayoutService
from metastore.web.console.parameters import Parameters
from metastore.web.console.site import Data, Page

_WIDTH: Final = 520
_SHADES: Final = 5
_HIGH: Final = 60  # pixels of the longest bar of a bucket


class LayoutPages:
    """The page of skew and buckets."""

    def __init__(self, layouts: LayoutService) -> None:
        self._layouts = layouts

    def pages(self) -> list[Page]:
        """Returns the pages."""
        return [Page("/tables/{catalog}/{database}/{table}/skew", "skew.html", self.skew, _with_bars)]

    def skew(self, parameters: Parameters) -> Data:
        """The bytes of skewed values and buckets in the newest partitions."""
        return self._layouts.read(parameters.table())


def _with_bars(data: Data) -> Data:
    return {
        **data,
        "bars": [_bar(partition) for partition in data["skew"]],
        "columns": [_columns(each) for each in data["bucket_files"]],
    }


def _bar(partition: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the pieces of a bar: each value, then the values without a directory."""
    total = partition["bytes"] or 0
    pieces = [(", ".join(each["value"]), each["bytes"]) for each in partition["values"]]
    pieces.append(("other values", partition["rest"]))
    x, bar = 0.0, []
    for number, (label, size) in enumerate(pieces):
        width = round(_WIDTH * size / total, 2) if total else 0.0
        is_rest = number == len(pieces) - 1
        shade = 0 if is_rest else _SHADES - number % _SHADES
        bar.append({"x": round(x, 2), "width": width, "label": label, "bytes": size, "shade": shade})
        x += width
    return bar


def _columns(partition: dict[str, Any]) -> list[dict[str, Any]]:
    most = max(partition["sizes"], default=0) or 1
    return [
        {"height": round(_HIGH * size / most, 1), "bytes": size, "files": files}
        for size, files in zip(partition["sizes"], partition["files"], strict=True)
    ]
