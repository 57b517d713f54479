"""Transactions as readers see them: states, operations, and snapshots (Hive's ValidTxnList)."""

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
    """TxnType of hive_metastore.thrift."""

    DEFAULT = 0
    REPL_CREATED = 1
    READ_ONLY = 2
    COMPACTION = 3
    MATER_VIEW_REBUILD = 4
    SOFT_DELETE = 5
    REBALANCE_COMPACTION = 6


class Operation(IntEnum):
    """Operations on a table or partition: DataOperationType of hive_metastore.thrift, and COMPACT."""

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
"""Maximum id that a client may seed a sequence with. At least half of all ids remain."""

_EVERYTHING: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The transactions that a reader sees: all up to `high_water_mark`, except open and aborted ones."""

    high_water_mark: int
    open: frozenset[int]
    aborted: frozenset[int]

    def sees(self, transaction: int) -> bool:
        """Returns whether the writes of the transaction are visible."""
        return transaction <= self.high_water_mark and transaction not in self.open and transaction not in self.aborted

    def of(self, transaction: int) -> Snapshot:
        """Returns the snapshot of a reader inside the transaction: it sees itself and no later transaction."""
        return Snapshot(min(self.high_water_mark, transaction), self.open - {transaction}, self.aborted)


class WriteId(NamedTuple):
    """The write id (`number`) of a transaction in a table."""

    transaction: int
    number: int


class VisibleWrites(NamedTuple):
    """The visible write ids of a table (Hive's ValidWriteIdList).

    Attributes:
        high_water_mark: greatest write id that may be visible.
        invalid: invisible write ids up to it, of open and aborted transactions.
        aborted_at: positions in `invalid` of write ids of aborted transactions.
        min_open: smallest write id of an open transaction, if any.
    """

    high_water_mark: int
    invalid: list[int]
    aborted_at: list[int]
    min_open: int | None


def visible_writes(snapshot: Snapshot, writes: Iterable[WriteId], last: int) -> VisibleWrites:
    """Returns the reply of get_valid_write_ids.

    Hive's high water mark is the greatest stored write id below the snapshot. Here, write ids that every reader sees
    are deleted, so that mark would hide later ones. The mark therefore starts at the last allocated write id and is
    lowered past those that belong to transactions after the snapshot.

    Args:
        snapshot: snapshot of the reader.
        writes: stored write ids of the table in ascending order. Write ids that every reader sees may be missing.
        last: last write id that was allocated for the table.
    """
    known = [write for write in writes if write.number <= last]
    while known and known[-1].number == last and known[-1].transaction > snapshot.high_water_mark:
        known.pop()
        last -= 1
    invisible = [write for write in known if not snapshot.sees(write.transaction)]
    aborted = [write.transaction in snapshot.aborted for write in invisible]
    still_open = [write.number for write, is_aborted in zip(invisible, aborted, strict=True) if not is_aborted]
    return VisibleWrites(
        last,
        [write.number for write in invisible],
        [position for position, is_aborted in enumerate(aborted) if is_aborted],
        min(still_open, default=None),
    )


def parse_snapshot(text: str) -> Snapshot:
    """Parses Hive's ValidReadTxnList: `mark:smallest open:open,…:aborted,…`. The lists are optional.

    In the snapshot of an empty text, everything is visible. Raises InvalidInputError for a malformed text.
    """
    if not text:
        return Snapshot(_EVERYTHING, frozenset(), frozenset())
    mark, *rest = text.split(":")
    opened, aborted = [*rest[1:3], "", ""][:2]
    try:
        return Snapshot(int(mark), _ids(opened), _ids(aborted))
    except ValueError:
        raise InvalidInputError(f"{text[:100]!r} is not a list of valid transactions. Write mark:open:1,2:3") from None


def parse_write_ids(text: str) -> tuple[int, list[int]]:
    """Returns the high water mark and the aborted write ids of Hive's ValidReaderWriteIdList.

    The text is the table, a colon, and a list as in `parse_snapshot`. Raises InvalidInputError for a malformed text.
    """
    table, separator, rest = text.partition(":")
    if not table or not separator:
        raise InvalidInputError(
            f"{text[:100]!r} is not a list of valid write ids. Write database.table:mark:open:1,2:3"
        )
    snapshot = parse_snapshot(rest)
    return snapshot.high_water_mark, sorted(snapshot.aborted)


def bit_set(bits: Iterable[int]) -> bytes:
    """Returns the bytes of a Java BitSet with these bits set: little-endian, without trailing zeros."""
    bits = list(bits)
    data = bytearray(max(bits, default=-8) // 8 + 1)
    for bit in bits:
        data[bit // 8] |= 1 << bit % 8
    return bytes(data)


def _ids(text: str) -> frozenset[int]:
    return frozenset(int(part) for part in text.split(",") if part)
