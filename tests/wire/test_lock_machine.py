"""Random sequences of lock requests, compared with a simple and slow model in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from tests.fixtures.server import Server, connected
from tests.wire.acid import (
    ACQUIRED,
    EW,
    EX,
    SR,
    SW,
    WAITING,
    abort,
    check,
    component,
    lock,
    open_transaction,
    shown,
    silence_lock,
    silence_transaction,
    unlock,
)
from tests.wire.builders import unique
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import (
    CommitTxnRequest,
    HeartbeatRequest,
    NoSuchLockException,
    NoSuchTxnException,
    TxnAbortedException,
    TxnOpenException,
)

# Both in this order: may a request of the first type be granted beside a lock of the second?
pytestmark = pytest.mark.slow

BESIDE = {(SR, SR), (SR, SW), (SR, EW), (SW, SR), (SW, SW), (EW, SR)}
PLACES = [(None, None), ("t", None), ("t", "p=1"), ("t", "p=2"), ("u", None)]

Wanted = tuple[int, int, str | None, str | None]  # type, database, table, partition
wanted = st.tuples(st.sampled_from([SR, SW, EX, EW]), st.integers(0, 1), st.sampled_from(PLACES)).map(
    lambda each: (each[0], each[1], *each[2])
)


@dataclass
class Held:
    """A lock of the model."""

    number: int
    transaction: int | None
    wanted: list[Wanted]
    granted: bool


class Model:
    """The locks, in the order of their requests."""

    def __init__(self) -> None:
        self.locks: list[Held] = []

    def free(self, new: Held) -> bool:
        """Returns whether nothing blocks a request."""
        return not any(
            self.in_the_way(new, held) and not self.waits_for(held, new.transaction)
            for held in self.locks
            if held.granted or held.number < new.number
        )

    def in_the_way(self, new: Held, old: Held) -> bool:
        same = new is old or (new.transaction is not None and new.transaction == old.transaction)
        return not same and any(excludes(ask, have) for ask in new.wanted for have in old.wanted)

    def waits_for(self, lock: Held, transaction: int | None) -> bool:
        """Returns whether a lock waits, directly or indirectly, for one of this transaction."""
        if lock.granted or transaction is None:
            return False
        older = [held for held in self.locks if held.granted or held.number < lock.number]
        return any(
            self.in_the_way(lock, held)
            and ((held.granted and held.transaction == transaction) or self.waits_for(held, transaction))
            for held in older
            if held.granted or held.transaction != transaction
        )

    def drop(self, *, number: int | None = None, transaction: int | None = None) -> None:
        gone = [
            held for held in self.locks if held.number == number or (transaction and held.transaction == transaction)
        ]
        self.locks = [held for held in self.locks if held not in gone]


def excludes(ask: Wanted, have: Wanted) -> bool:
    (kind, database, table, partition), (other, other_database, other_table, other_partition) = ask, have
    if database != other_database:
        return False
    if (
        table
        and other_table
        and (table != other_table or (partition and other_partition and partition != other_partition))
    ):
        return False
    if {(kind, bool(table)), (other, bool(other_table))} == {(SR, False), (EX, True)}:
        return False
    return (kind, other) not in BESIDE


class LockMachine(RuleBasedStateMachine):
    """Two connections by turns. Time passes for single locks or transactions."""

    server: Server
    clients: tuple[Any, Any]
    numbers: Bundle[int] = Bundle("numbers")
    transactions: Bundle[int] = Bundle("transactions")

    def __init__(self) -> None:
        super().__init__()
        self.databases = [unique("db"), unique("db")]
        self.model = Model()
        self.ended: set[int] = set()
        self.calls = 0

    @property
    def client(self) -> Any:
        self.calls += 1
        return self.clients[self.calls % 2]

    @rule(target=numbers, asked=st.lists(wanted, min_size=1, max_size=3))
    def ask(self, asked: list[Wanted]) -> int:
        return self.request(asked, None)

    @rule(target=numbers, asked=st.lists(wanted, min_size=1, max_size=2), transaction=transactions)
    def ask_in_transaction(self, asked: list[Wanted], transaction: int) -> Any:
        if transaction not in self.ended:
            return self.request(asked, transaction)
        with pytest.raises((TxnAbortedException, NoSuchTxnException)):
            self.request(asked, transaction)
        return multiple()

    def request(self, asked: list[Wanted], transaction: int | None) -> int:
        components = [component(kind, self.databases[n], table, part) for kind, n, table, part in asked]
        answer = lock(self.client, *components, transaction=transaction)
        new = Held(answer.lockid, transaction, asked, granted=False)
        new.granted = self.model.free(new)
        self.model.locks.append(new)
        assert answer.state == (ACQUIRED if new.granted else WAITING)
        return new.number

    @rule(number=numbers)
    def check_lock(self, number: int) -> None:
        held = self.find(number)
        if held is None:
            with pytest.raises(NoSuchLockException):
                check(self.client, number)
            return
        held.granted = held.granted or self.model.free(held)
        assert check(self.client, number) == (ACQUIRED if held.granted else WAITING)

    @rule(number=numbers)
    def unlock(self, number: int) -> None:
        held = self.find(number)
        if held is not None and held.transaction is not None and held.granted:
            with pytest.raises(TxnOpenException):
                unlock(self.client, number)
            return
        unlock(self.client, number)
        self.model.drop(number=number)

    @rule(number=numbers)
    def heartbeat(self, number: int) -> None:
        if self.find(number) is None:
            with pytest.raises(NoSuchLockException):
                self.client.heartbeat(HeartbeatRequest(number))
        else:
            self.client.heartbeat(HeartbeatRequest(number))

    @rule(number=consumes(numbers))
    def an_hour_of_silence(self, number: int) -> None:
        held = self.find(number)
        silence_lock(self.server.database_url, number)
        if held is not None and held.transaction is None:
            self.model.drop(number=number)

    @rule(target=transactions)
    def open_transaction(self) -> int:
        return open_transaction(self.client)

    @rule(transaction=transactions, commit=st.booleans())
    def end_transaction(self, transaction: int, commit: bool) -> None:
        if commit and transaction not in self.ended:
            self.client.commit_txn(CommitTxnRequest(transaction))
        else:
            abort(self.client, transaction)
        self.ended.add(transaction)
        self.model.drop(transaction=transaction)

    @rule(transaction=transactions)
    def an_hour_of_silence_of_a_transaction(self, transaction: int) -> None:
        silence_transaction(self.server.database_url, transaction)
        self.ended.add(transaction)
        self.model.drop(transaction=transaction)

    @invariant()
    def shown_locks_are_the_existing_ones(self) -> None:
        actual = {each.lockid: each.state == ACQUIRED for name in self.databases for each in shown(self.client, name)}
        assert actual == {held.number: held.granted for held in self.model.locks}

    @invariant()
    def granted_locks_do_not_conflict(self) -> None:
        granted = [held for held in self.model.locks if held.granted]
        for location, later in enumerate(granted):
            for earlier in granted[:location]:
                assert not (self.model.in_the_way(later, earlier) and self.model.in_the_way(earlier, later))

    def find(self, number: int) -> Held | None:
        return next((held for held in self.model.locks if held.number == number), None)


def test_any_sequence_of_requests_agrees_with_the_model(metastore_server: Server) -> None:
    with (
        connected(metastore_server, ThriftHiveMetastore) as one,
        connected(metastore_server, ThriftHiveMetastore) as other,
    ):

        class Machine(LockMachine):
            server, clients = metastore_server, (one, other)

        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=8, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
            ),
        )
