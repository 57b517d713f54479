"""The result of one check of `metastore doctor`."""

from __future__ import annotations

from typing import Final, NamedTuple

OK: Final = "ok"
WARNING: Final = "warning"
ERROR: Final = "error"


class Finding(NamedTuple):
    """`level`: OK, WARNING (a server works, but not well) or ERROR. `text` names the fix."""

    level: str
    text: str
