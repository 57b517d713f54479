"""The checks of locks, transactions and writes. They belong to the user who opened them, while the user has the rights
that they need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from metastore.domain.names import DatabaseName, TableName
from metastore.domain.permissions import OwnLocks, OwnTransactions, WriteAccess, rights_to_lock
from metastore.domain.privileges import CallerGrants, Duty, Right, Securable, rights, sees
from metastore.errors import (
    HiddenError,
    LockNotFoundError,
    MetastoreError,
    TransactionAbortedError,
    TransactionNotFoundError,
)
from metastore.services.files.open_writes import ended
from metastore.storage.repositories.held import HeldObject
from metastore.storage.unit_of_work import UnitOfWork

Name: TypeAlias = TableName | DatabaseName
Find: TypeAlias = Callable[[Sequence[Name]], list[Securable | None]]
_MOST_RENEWABLE: Final = 10_000  # ids that are remembered for each caller
_NO_TABLE: Final = TableName("", "", "")


class Renewable(NamedTuple):
    """Locks and transactions, by id."""

    locks: set[int]
    transactions: set[int]


class HeldChecks:
    """Checks what the caller holds. One statement looks up all objects of a requirement."""

    def __init__(self, work: UnitOfWork, grants: CallerGrants, find: Find, renewable: Renewable | None = None) -> None:
        """`find`: looks up objects, with the caller's rights on them. `renewable`: the locks and transactions that the
        caller may renew with the present version of the grants; None: each renewal checks the rights.
        """
        self._find = find
        self._work = work
        self._grants = grants
        self._securables: dict[Name, Securable | None] = {}
        self._renewable = Renewable(set(), set()) if renewable is None else renewable

    def check_locks(self, required: OwnLocks) -> None:
        """Raises LockNotFoundError for a missing lock, for a lock of another user at the same cost, and for the renewal
        of a lock whose rights the caller has lost.
        """
        owners = self._work.held.owners_of_locks(required.ids)
        if missing := [number for number in required.ids if number not in owners]:
            raise LockNotFoundError(f"No such lock lockid:{min(missing)}")
        if others := self._others(owners):
            raise _denial(LockNotFoundError(f"No such lock lockid:{min(others)}"))
        if required.renews and (lost := self._lost(required.ids, self._renewable.locks, self._work.held.of_locks)):
            text = f"No such lock lockid:{min(lost)}: its user has lost a right that it needs"
            raise _denial(LockNotFoundError(text))

    def check_transactions(self, required: OwnTransactions) -> None:
        """Raises TransactionNotFoundError for a missing transaction, and for another user's at the same cost.

        Raises TransactionAbortedError for the renewal of one whose rights the caller has lost.
        """
        owners = self._work.held.owners_of_transactions(required.ids)
        others = self._others(owners)
        absent = [number for number in required.ids if number not in owners] + others
        if absent:
            error = TransactionNotFoundError(f"No such transaction txnid:{min(absent)}")
            raise _denial(error) if min(absent) in others else error
        if required.renews and (lost := self.lost_transactions(required.ids)):
            text = f"Transaction txnid:{min(lost)} cannot be renewed: its user has lost a right that it needs"
            raise _denial(TransactionAbortedError(text))

    def lost_transactions(self, ids: Sequence[int]) -> set[int]:
        """Returns the transactions that need a right that the caller has lost. `ids`: the caller's transactions."""
        user = self._grants.user or ""
        return self._lost(ids, self._renewable.transactions, lambda new: self._work.held.of_transactions(new, user))

    def check_write(self, required: WriteAccess) -> None:
        """Raises NotFoundError for a write that has ended, and for another user's at the same cost."""
        write = self._work.held.write(required.query_id)
        name = write.table if write else _NO_TABLE
        self._look_up([name])
        if write is None or (table := self._securables[name]) is None:
            raise ended(required.query_id)
        held, user = rights(self._grants, table), self._grants.user
        may_end = required.ends and (Right.OWNERSHIP in held or write.user == (user or ""))
        if not may_end and (write.user not in (None, user) or held.isdisjoint(required.any_of)):
            raise HiddenError(str(ended(required.query_id)))

    @property
    def _is_data_admin(self) -> bool:
        """Whether the caller may end and renew the locks and transactions of others."""
        return self._grants.is_admin or Duty.DATA in self._grants.duties

    def _others(self, owners: dict[int, str]) -> list[int]:
        if self._is_data_admin:
            return []
        return [number for number, user in owners.items() if user != (self._grants.user or "")]

    def _lost(
        self, ids: Sequence[int], renewable: set[int], objects: Callable[[Sequence[int]], list[HeldObject]]
    ) -> set[int]:
        """Returns the locks or transactions with an object that the caller could no longer lock. An object that does
        not exist any more does not count. Adds the others to the `renewable` ones.
        """
        new = [number for number in ids if number not in renewable]
        if self._is_data_admin or not new:
            return set()
        held = objects(new)
        self._look_up(each.name for each in held)
        lost = {each.holder for each in held if not self._may_lock(each.name, writes=each.writes)}
        if len(renewable) > _MOST_RENEWABLE:
            renewable.clear()
        renewable |= {each.holder for each in held} - lost
        return lost

    def _may_lock(self, name: Name, *, writes: bool) -> bool:
        found, of_table = self._securables[name], isinstance(name, TableName)
        if found is None or (of_table and found.table_id is None):
            return True
        any_of = rights_to_lock(of_table=of_table, reads=not writes)
        return sees(self._grants, found) and not (any_of and rights(self._grants, found).isdisjoint(any_of))

    def _look_up(self, names: Iterable[Name]) -> None:
        new = [name for name in dict.fromkeys(names) if name not in self._securables]
        if new:
            self._securables |= zip(new, self._find(new), strict=True)


def _denial(error: MetastoreError) -> MetastoreError:
    error.is_denial = True
    return error
