"""A text that was given to `spark.sql`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Query:
    """`text` as written; `args` and `named` are the parameters of PySpark's `sql`."""

    text: str
    args: Any = None
    named: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_parameters(self) -> bool:
        """Tells whether there are any."""
        return bool(self.args or self.named)
