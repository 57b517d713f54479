"""How an action of table care ends for a partition, or for a table. Pure."""

from __future__ import annotations

from typing import Final

from metastore.domain.care_plan import COMPACTION, DISCOVERY, RETENTION, STATISTICS

DONE, SKIPPED, REFUSED, FAILED = "done", "skipped", "refused", "failed"
OUTCOMES: Final = (DONE, SKIPPED, REFUSED, FAILED)
ACTIONS: Final = (RETENTION, DISCOVERY, COMPACTION, STATISTICS)
_LEFT: Final = ("skipped", "kept", "ignored")


def outcome_of(text: str) -> str:
    """Returns the outcome of a text such as `skipped: another writer changed it`. Other words mean DONE."""
    word = text.partition(":")[0]
    if word in _LEFT:
        return SKIPPED
    return word if word in (REFUSED, FAILED) else DONE
