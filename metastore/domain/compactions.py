"""States of compactions, and Hive's encoding of them (CompactionState, StringableMap)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final


class CompactionType(IntEnum):
    """CompactionType of hive_metastore.thrift."""

    MINOR = 1
    MAJOR = 2
    REBALANCE = 3
    ABORT_TXN_CLEANUP = 4


INITIATED: Final = "initiated"
WORKING: Final = "working"
READY_FOR_CLEANING: Final = "ready for cleaning"
FAILED: Final = "failed"
SUCCEEDED: Final = "succeeded"
DID_NOT_INITIATE: Final = "did not initiate"
REFUSED: Final = "refused"
ABORTED: Final = "aborted"

LETTERS: Final = {
    INITIATED: "i",
    WORKING: "w",
    READY_FOR_CLEANING: "r",
    FAILED: "f",
    SUCCEEDED: "s",
    DID_NOT_INITIATE: "a",
    REFUSED: "c",
    ABORTED: "x",
}
ACTIVE: Final = (INITIATED, WORKING)
"""States of running compactions. An object has at most one."""
ENDED: Final = (FAILED, SUCCEEDED, DID_NOT_INITIATE, REFUSED, ABORTED)

_STATES = {letter: state for state, letter in LETTERS.items()}


def state_of(text: str | None) -> str | None:
    """Returns the state with this letter (as Hive's clients send it) or name. No text means any state: None."""
    return _STATES.get(text, text.lower()) if text else None


def write_properties(properties: Mapping[str, str | None] | None) -> str | None:
    """Encodes properties as Hive's StringableMap: number of entries, then each key and value after its length."""
    if properties is None:
        return None
    return f"{len(properties)}:" + "".join(_sized(key) + _sized(value) for key, value in properties.items())


def _sized(text: str | None) -> str:
    """Encodes a text after its length in UTF-16 code units, as Java counts."""
    return f"{len((text or '').encode('utf-16-le', 'surrogatepass')) // 2}:{text or ''}"
