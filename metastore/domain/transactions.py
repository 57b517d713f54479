"""What a transaction is to those who read: states, kinds of writes, and snapshots (Hive's ValidTxnList)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

from metastore.errors import InvalidInputError

OPEN: Final = "open"
ABORTED: Final = "aborted"
COMMITTED: Final = "committed"


class TransactionType(IntEnum):
    """The wire's TxnType."""

    DEFAULT = 0
    REPL_CREATED = 1
    READ_ONLY = 2
    COMPACTION = 3
    MATER_VIEW_REBUILD = 4
    SOFT_DELETE = 5
    REBALANCE_COMPACTION = 6


class Operation(IntEnum):
    """What a transaction does to a table or partition: the wire's DataOperationType, and a compaction's own."""

    SELECT = 1
    INSERT = 2
    UPDATE = 3
    DELETE = 4
    UNSET = 5
    NO_TXN = 6
    COMPACT = 7


WRITES: Final = (Operation.INSERT, Operation.UPDATE, Operation.DELETE)
CONFLICTING: Final = (Operation.UPDATE, Operation.DELETE)

LARGEST_SEED: Final = 2**62
"""Where ids may be told to begin: half of all are left for those that follow."""

_EVERYTHING: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The transactions whose writes a reader sees: all up to `high_water_mark` but the open and the aborted ones."""

    high_water_mark: int
    open: frozenset[int]
    aborted: frozenset[int]

    def sees(self, transaction: int) -> bool:
        return transaction <= self.high_water_mark and transaction not in self.open and transaction not in self.aborted

    def of(self, transaction: int) -> Snapshot:
        """Returns the snapshot as that transaction sees it: itself, and nothing that began after it."""
        return Snapshot(min(self.high_water_mark, transaction), self.open - {transaction}, self.aborted)


class WriteId(NamedTuple):
    """The number as which a transaction wrote into a table."""

    transaction: int
    number: int


class VisibleWrites(NamedTuple):
    """What a snapshot sees of a table: all up to a number but the invalid ones, of which those at some places are of
    aborted transactions."""

    high_water_mark: int
    invalid: list[int]
    aborted_at: list[int]
    min_open: int | None


def visible_writes(snapshot: Snapshot, writes: Iterable[WriteId], last: int) -> VisibleWrites:
    """Returns what get_valid_write_ids answers. Hive starts from the highest known write id under the snapshot; here
    that would hide the later ones that everybody sees and that are forgotten, so the start is the last, and what the
    snapshot has not seen at the end is cut off.

    Args:
        snapshot: of the reader.
        writes: the known write ids of the table, ascending; those that everybody sees may be missing.
        last: the last number that was given for the table.
    """
    known = [write for write in writes if write.number <= last]
    while known and known[-1].number == last and known[-1].transaction > snapshot.high_water_mark:
        known.pop()
        last -= 1
    unseen = [write for write in known if not snapshot.sees(write.transaction)]
    aborted = [write.transaction in snapshot.aborted for write in unseen]
    still_open = [write.number for write, is_aborted in zip(unseen, aborted, strict=True) if not is_aborted]
    return VisibleWrites(
        last,
        [write.number for write in unseen],
        [place for place, is_aborted in enumerate(aborted) if is_aborted],
        min(still_open, default=None),
    )


def parse_snapshot(text: str) -> Snapshot:
    """Reads what Hive's ValidReadTxnList writes: `mark:least open:open,…:aborted,…`; the lists may be missing. Of
    nothing, everything is visible.

    Raises InvalidInputError.
    """
    if not text:
        return Snapshot(_EVERYTHING, frozenset(), frozenset())
    mark, *rest = text.split(":")
    opened, aborted = [*rest[1:3], "", ""][:2]
    try:
        return Snapshot(int(mark), _ids(opened), _ids(aborted))
    except ValueError:
        raise InvalidInputError(f"{text[:100]!r} is no list of valid transactions: write mark:open:1,2:3") from None


def parse_write_ids(text: str) -> tuple[int, list[int]]:
    """Reads (high-water mark, aborted numbers) of what ValidReaderWriteIdList writes in Hive: the table, a colon, a
    list as `parse_snapshot` reads it.

    Raises InvalidInputError.
    """
    table, separator, rest = text.partition(":")
    if not table or not separator:
        raise InvalidInputError(f"{text[:100]!r} is no list of valid write ids: write database.table:mark:open:1,2:3")
    snapshot = parse_snapshot(rest)
    return snapshot.high_water_mark, sorted(snapshot.aborted)


def bit_set(places: Iterable[int]) -> bytes:
    """Returns the bytes of a Java BitSet with these bits set: little-endian, without trailing zeros."""
    places = list(places)
    bits = bytearray(max(places, default=-8) // 8 + 1)
    for place in places:
        bits[place // 8] |= 1 << place % 8
    return bytes(bits)


def _ids(text: str) -> frozenset[int]:
    return frozenset(int(part) for part in text.split(",") if part)
